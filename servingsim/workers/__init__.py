"""One replica: its requests, its KV cache, and which requests go into the next iteration (L5).

Everything here is flat arrays and functions that numba compiles as they stand; uncompiled they are the readable
reference. A policy is one file in `policies/`.
"""

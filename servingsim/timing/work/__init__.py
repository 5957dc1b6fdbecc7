"""Necessary work of each kernel kind: FLOPs and bytes from its args, one definition for profiler and simulator.

Every file holds one function `work(**args)`, whose arguments are the args fields of the kind. Swept fields may be
numpy arrays; the result then has their shape.
"""

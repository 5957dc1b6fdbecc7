"""Captures of real runs: profiler files read in bounded memory, told apart into steps, kernels and gaps."""

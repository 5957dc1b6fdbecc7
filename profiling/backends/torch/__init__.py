"""PyTorch through its public callables, on the CPU and on CUDA."""

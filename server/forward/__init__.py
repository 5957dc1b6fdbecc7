"""Is a prediction right on this machine: a real forward of a model, timed in turn with the kernels that predict it."""

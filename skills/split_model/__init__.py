"""A forward pass as the kernels it costs: a decision table that is checked against the traced model."""

"""How far the times of kernels are off, on measured rows that were held out of the fit: one engine for every kind."""

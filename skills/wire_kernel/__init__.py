"""`wire_kernel`: a measured kernel into the simulator's timing layer, criterion by criterion (R.1 to R.3)."""

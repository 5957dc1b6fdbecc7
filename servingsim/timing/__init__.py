"""L1: a kernel shape to its time, work and coverage; and the cost tree that sums them."""

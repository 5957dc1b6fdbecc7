"""Several workers: pools, routers, and the way of a request between a prefill and a decode pool (L6)."""

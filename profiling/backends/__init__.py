"""One folder a backend, one file a kind in it; each defines `BACKEND`. The files here are shared."""

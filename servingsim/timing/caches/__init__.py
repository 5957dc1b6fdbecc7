"""How the rows of a kernel are read: one file a rule, each defines one `CACHE`."""

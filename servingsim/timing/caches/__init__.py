"""One file a cache kind, each defining `CACHE`. The folder is the registry: a new cache is a new file."""

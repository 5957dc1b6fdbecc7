"""One file a kernel kind, each defining `KERNEL`. The folder is the registry: a new kind is a new file."""

"""Serving stacks: one file defines one `STACK`; the folder is the registry."""

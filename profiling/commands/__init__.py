"""One file a command, each defining `COMMAND`. The first line of its docstring is its help in the list."""

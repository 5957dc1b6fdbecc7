"""One file a command, each defining `COMMAND`. The folder is the registry: a new command is a new file.

A file's name (with - for _) is the command's name. The first line of its docstring is what
`servingsim --help` shows, without importing the file.
"""

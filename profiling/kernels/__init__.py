"""One file a kernel kind: typed, ordered args, their meaning, their work model. Each defines `KIND`."""

"""What each serving stack launches, a file a stack, every entry with the place in the stack's source that says so."""

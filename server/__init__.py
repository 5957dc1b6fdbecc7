"""The doors: the `servingsim` command and what it shares with every other way in."""

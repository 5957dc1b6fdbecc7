"""What is written down from the code itself: command reference, kernel tables, JSON schemas, measured figures."""

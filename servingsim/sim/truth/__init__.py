"""What really ran, read and set beside what is predicted: iterations and requests of an engine."""

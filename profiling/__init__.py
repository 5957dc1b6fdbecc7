"""Measures kernels and keeps the times: registry, workers, timers, store, importers, command line."""

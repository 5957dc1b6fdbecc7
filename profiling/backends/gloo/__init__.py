"""Collectives over gloo: real processes on this machine."""

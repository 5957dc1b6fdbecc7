"""Collectives over NCCL: one process a GPU."""

"""Serving: a deployment and a workload to a finished simulation."""

"""Serving simulations at the door: what a user wrote to a deployment, and its models to a run."""

"""Predictions: one iteration of a model priced, reported op by op, with the rows that are missing."""

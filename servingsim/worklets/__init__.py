"""Sections of a model between two points where its ranks meet; the tensor-parallel partition happens here."""

"""The independent accountant: work that a step needs, counted without looking at a cost tree."""

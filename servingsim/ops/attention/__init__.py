"""Compound attention operations: a prefill and a decode kernel behind one input."""

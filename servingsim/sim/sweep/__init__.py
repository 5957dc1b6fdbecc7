"""Sweeps: many deployments under much traffic, the highest rate that keeps limits, and what is best of all.

`spec.py` says what is asked for, `points.py` which simulations that is, `run_point.py` what one of them gives,
`engines/` where they run, `record.py` what is kept while they do, `run.py` puts it together, `report.py` is the answer.
"""

"""The loop over scheduler iterations: one compiled function over flat arrays.

`state.py` says what the arrays are, `pricing.py` what an iteration costs, `iteration.py` how one begins and ends,
`run.py` in which order things happen. Nothing here knows a model, a file or a report.
"""

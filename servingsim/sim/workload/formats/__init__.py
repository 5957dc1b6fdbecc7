"""Files of requests, one format a file: `FORMAT` says how it is recognised and how it is read."""

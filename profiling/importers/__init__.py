"""One file or package an importer of measured times, each defining `IMPORTER`; `report.py` is what they say."""

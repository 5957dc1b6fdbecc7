"""Whole models: a config.json read as facts and compiled to a cost tree for one device and stack."""

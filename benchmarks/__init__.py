"""Benchmarks: each writes JSON into `results/`; `compare.py` prints it as a table."""

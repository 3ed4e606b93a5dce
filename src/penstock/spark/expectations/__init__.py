"""Expectations, unique keys and quarantine of the rows of a query."""

"""Queries with state, through Penstock and written by hand with the same settings."""

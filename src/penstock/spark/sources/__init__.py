"""Readers of the outside world."""

"""Flows by kind and by name."""

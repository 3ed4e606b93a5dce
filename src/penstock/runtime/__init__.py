"""Executes an update plan."""

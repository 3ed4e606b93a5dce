"""Advice on Spark settings, computed from what the event log has measured."""

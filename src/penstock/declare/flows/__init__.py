"""Declarations of flows and sinks."""

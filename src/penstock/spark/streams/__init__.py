"""Streaming queries: how they are started and written, and what they report."""

"""Rows that come back: out of quarantine, and batches computed again."""

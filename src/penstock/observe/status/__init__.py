"""What the newest update did or does, per flow and dataset: the parts of the status, and the status itself."""

"""What safety costs: refusals, restarts after a kill, the change preview, and batches of a table that grows old."""

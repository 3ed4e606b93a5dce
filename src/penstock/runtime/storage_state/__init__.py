"""What the storage holds of a pipeline: tables, checkpoints, notes beside them."""

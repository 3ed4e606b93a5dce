"""Judges a pipeline's storage: checkpoints, and what `penstock doctor` finds."""

"""Frozen elements of a pipeline, the dataflow graph and its structural rules. No Spark."""

"""The sections of a pipeline file: alerts, lineage, metrics."""

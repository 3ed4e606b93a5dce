"""OpenLineage: what a run reads and writes, sent to a catalog of lineage."""

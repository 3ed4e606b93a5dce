"""OpenLineage: what a run reads and writes, told to a catalog of lineage."""

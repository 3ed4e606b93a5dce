"""A Delta table is either clustered or partitioned."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph


def cluster_by_with_partitions(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports tables with both `cluster_by` and `partition_cols`, before Delta refuses to create them."""
    for table in graph.tables:
        if table.cluster_by and table.partition_columns:
            yield DefinitionError(
                "SPECIFY_CLUSTER_BY_WITH_PARTITIONED_BY_IS_NOT_ALLOWED",
                location=table.location,
                dataset=str(table.identifier),
                name=table.identifier,
            )

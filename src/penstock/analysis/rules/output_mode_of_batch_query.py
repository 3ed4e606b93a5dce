"""A table that turns out to be a materialized view has no output mode."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.elements import MaterializedView
from penstock.graph.resolved import ResolvedGraph


def output_mode_of_batch_query(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses `output_mode` and `keys` of a table whose query reads no stream: it is computed as a whole."""
    for table in graph.tables.values():
        if isinstance(table, MaterializedView) and (table.output_mode is not None or table.keys):
            yield DefinitionError(
                "OUTPUT_MODE_CONFLICT",
                location=table.location,
                dataset=str(table.identifier),
                target=table.identifier,
                reason="its query reads no stream, so it is a materialized view, which is computed as a whole",
                way_out="Read with spark.readStream, or remove output_mode and keys",
            )

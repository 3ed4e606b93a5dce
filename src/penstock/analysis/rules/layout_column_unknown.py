"""A table is laid out by columns that it has."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError, did_you_mean
from penstock.graph.resolved import ResolvedGraph


def layout_column_unknown(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses `partition_cols` and `cluster_by` that name no column; `cluster_by` may name a nested field."""
    for identifier, table in graph.tables.items():
        columns = graph.stored_schemas[identifier].names
        known = {name.casefold() for name in columns}
        layout = [("partition_cols", name) for name in table.partition_columns]
        layout += [("cluster_by", name) for name in table.cluster_by]
        for parameter, name in layout:
            if known.isdisjoint({name.casefold(), name.partition(".")[0].casefold()}):
                yield DefinitionError(
                    "LAYOUT_COLUMN_UNKNOWN",
                    location=table.location,
                    dataset=str(identifier),
                    parameter=parameter,
                    name=identifier,
                    column=name,
                    suggestion=did_you_mean(name, columns, also=f"The columns are {', '.join(columns)}."),
                )

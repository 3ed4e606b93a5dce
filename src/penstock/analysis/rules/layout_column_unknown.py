"""A table is laid out by columns that it has."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError, did_you_mean
from penstock.graph.resolved import ResolvedGraph
from penstock.graph.sql_names import name_parts


def layout_column_unknown(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses `partition_cols` and `cluster_by` that name no column, and no field of a struct."""
    for identifier, table in graph.tables.items():
        columns = graph.stored_schemas[identifier].names
        known = {name.casefold() for name in columns}
        # A field by which a table is partitioned has become a column by now; Delta clusters by a field itself.
        layout = [("partition_cols", name, name) for name in table.partition_columns]
        layout += [("cluster_by", name, name_parts(name)[0]) for name in table.cluster_by]
        for parameter, name, column in layout:
            if known.isdisjoint({name.casefold(), column.casefold()}):
                yield DefinitionError(
                    "LAYOUT_COLUMN_UNKNOWN",
                    location=table.location,
                    dataset=str(identifier),
                    parameter=parameter,
                    name=identifier,
                    column=name,
                    suggestion=did_you_mean(name, columns, also=f"The columns are {', '.join(columns)}."),
                )

"""The columns of a query are those that its table can store."""

from __future__ import annotations

import re
from collections.abc import Iterator

from penstock.analysis.table_layout import mapped_names
from penstock.errors import PenstockError, did_you_mean
from penstock.graph.companions.quarantine import RESERVED_PREFIX
from penstock.graph.companions.quarantining import has_quarantine
from penstock.graph.elements import COLUMN_MAPPING, TYPE_WIDENING
from penstock.graph.resolved import ROWS_AS_QUERIED, ResolvedGraph
from penstock.graph.schema.declared_columns import undeclared_column, undeclared_columns, unfilled_columns
from penstock.graph.sql.names import name_parts


def declared_schema_misses_column(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses a column or a field of a struct that the table's declared schema does not have: it would be lost."""
    for flow in graph.flows:
        table, declared = graph.tables.get(flow.declaration.target), graph.stored_schemas.get(flow.declaration.target)
        if declared is None or table is None or table.schema is None:
            continue
        for column in undeclared_columns(flow.schema, declared):
            yield undeclared_column(column, flow.declaration, declared)


def not_null_column_not_filled(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses a query without a column or field that is declared NOT NULL and that Delta does not generate."""
    for flow in graph.flows:
        table = graph.tables.get(flow.declaration.target)
        if table is None or table.schema is None or flow.type not in ROWS_AS_QUERIED:
            continue
        for column in unfilled_columns(flow.schema, graph.stored_schemas[flow.declaration.target]):
            yield flow.declaration.error(
                "NOT_NULL_COLUMN_NOT_FILLED", flow=flow.declaration.name, name=flow.declaration.target, column=column
            )


def column_name_not_storable(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses a name such as `sum(amount)` in a table whose author has switched column mapping off."""
    for flow in graph.flows:
        table = graph.tables.get(flow.declaration.target)
        if table is None or str(table.table_properties.get(COLUMN_MAPPING, "none")).casefold() != "none":
            continue
        for name in mapped_names(flow):
            yield flow.declaration.error("COLUMN_NAME_NOT_STORABLE", column=name)


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
                yield table.error(
                    "LAYOUT_COLUMN_UNKNOWN",
                    parameter=parameter,
                    name=identifier,
                    column=name,
                    suggestion=did_you_mean(name, columns, also=f"The columns are {', '.join(columns)}."),
                )


def type_widening_not_enabled(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses Auto Loader's type widening into a table that Delta would not widen, before a file needs it."""
    for flow in graph.flows:
        table = graph.tables.get(flow.declaration.target)
        if not flow.widens or table is None or table.schema is not None:
            continue
        if str(table.table_properties.get(TYPE_WIDENING, "false")).casefold() != "true":
            yield table.error("TYPE_WIDENING_NOT_ENABLED", flow=flow.declaration.name, name=table.identifier)


def quarantine_column_reserved(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses a query with a column of the quarantine's own, if its target has a quarantine."""
    for identifier, table in graph.tables.items():
        for flow in graph.flows_to(identifier) if has_quarantine(table) else ():
            for column in flow.rows.names:
                if column.casefold().startswith(RESERVED_PREFIX):
                    yield flow.declaration.error(
                        "QUARANTINE_COLUMN_RESERVED", name=identifier, column=column, prefix=RESERVED_PREFIX
                    )


_KEY = re.compile(r"\b(PRIMARY|FOREIGN)\s+KEY\b", re.IGNORECASE)


def key_not_enforced(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Reports that a PRIMARY KEY or FOREIGN KEY is not enforced."""
    for table in graph.tables.values():
        found = _KEY.search(table.schema) if isinstance(table.schema, str) else None
        if found is not None:
            yield table.error("KEY_NOT_ENFORCED", name=table.identifier, kind=f"{found.group(1).upper()} KEY")

"""Delta stores a column with blanks or punctuation in its name when column mapping by name is on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from penstock.graph.column_names import names_to_map
from penstock.graph.elements import COLUMN_MAPPING, MaterializedView, StreamingTable
from penstock.graph.resolved import ResolvedFlow


def with_column_mapping(
    table: StreamingTable | MaterializedView, flows: Iterable[ResolvedFlow]
) -> StreamingTable | MaterializedView:
    """Returns the table with column mapping where a column needs it, such as the `sum(amount)` of an aggregation.

    What the author has said of it stays. Without need there is none: not every reader of Delta tables knows it.
    """
    if COLUMN_MAPPING in table.table_properties or not any(mapped_names(flow) for flow in flows):
        return table
    return replace(table, table_properties={**table.table_properties, COLUMN_MAPPING: "name"})


def mapped_names(flow: ResolvedFlow) -> list[str]:
    """Returns the names of columns, and of fields in them, that Delta stores only by column mapping.

    Of change events all columns count, because an event that cannot be applied is stored whole, in quarantine.
    """
    return names_to_map(json.loads(flow.rows.json))

"""What rescued data say of the place of a message: the columns for it of Kafka, Event Hubs or Kinesis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.graph.sql_names import literal
from penstock.spark.sources.auto_loader.sql_text import column

_PLACE: Final = {
    "_topic": ("topic",),
    "_stream": ("stream",),
    "_shard": ("shardId",),
    "_partition": ("partition",),
    "_offset": ("offset", "sequenceNumber"),
}


def message_place(columns: Sequence[str], inside: str | None = None) -> str | None:
    """Returns SQL for the struct that says where a message is from; None when none of its `columns` does.

    `inside` names the struct that has the columns.
    """
    fields = []
    for field, names in _PLACE.items():
        if (found := next((name for name in names if name in columns), None)) is not None:
            fields.append(f"{literal(field)}, {column(*([inside] if inside else []), found)}")
    return f"named_struct({', '.join(fields)})" if fields else None

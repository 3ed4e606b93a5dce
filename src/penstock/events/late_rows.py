"""What became of the rows of one batch that came behind the watermark."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from penstock.events.types import Event, EventType


@dataclass(frozen=True, slots=True)
class LateRows:
    """The late rows of a batch of one query; the details of a `late_rows` event.

    `counted` is what Spark has counted, of an aggregation after rows of one key were merged; None when its number is
    not known any more. `kept` rows are in `table`; None when they could not be kept, and then `reason` says why.
    """

    query_id: str
    batch_id: int
    counted: int | None
    kept: int | None
    table: str
    reason: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns the details of the event."""
        return asdict(self)


def late_rows_of_event(event: Event) -> LateRows | None:
    """Returns what a `late_rows` event tells, else None."""
    details = event.details.get(EventType.LATE_ROWS.value)
    if event.event_type is not EventType.LATE_ROWS or not isinstance(details, dict):
        return None
    try:
        return LateRows(**{field.name: details[field.name] for field in fields(LateRows)})
    except KeyError:
        return None

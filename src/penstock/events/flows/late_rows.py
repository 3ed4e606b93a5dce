"""What became of rows that came behind the watermark: of those of one batch, and of those that were brought in."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from penstock.errors.text import clean, plural
from penstock.events.details import total
from penstock.events.flows.facts import details_of
from penstock.events.types import Event, EventType

_LIMIT: Final = 200


@dataclass(frozen=True, slots=True)
class LateRows:
    """The late rows of a batch of one query; the details of a `late_rows` event.

    `counted` is what Spark has counted, of an aggregation after rows of one key were merged; None when its number is
    not known any more. `kept` rows are in `table`; None when they could not be stored, and then `reason` says why.
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
    """Returns the details of a `late_rows` event, else None."""
    if event.event_type is not EventType.LATE_ROWS:
        return None
    details = details_of(event)
    try:
        return LateRows(**{field.name: details[field.name] for field in fields(LateRows)})
    except KeyError:
        return None


def reprocessed(flow: str, table: str, *, windows: int, rows: int) -> tuple[str, dict[str, Any]]:
    """Message and details of a `late_rows` event: `rows` of `table` came into their `windows`, and have left it."""
    late, of = plural(rows, "late row"), plural(windows, "window")
    details = {"table": table, "windows": windows, "reprocessed": rows}
    return f"{clean(flow, limit=_LIMIT)}: {late} came into {of} after all", {EventType.LATE_ROWS.value: details}


def reprocessed_rows_of(event: Event) -> int:
    """Returns how many late rows came into their windows after all, by a `late_rows` event that says so, else 0."""
    return total(details_of(event), "reprocessed") if event.event_type is EventType.LATE_ROWS else 0

"""What readers of a long log say of it, and where its totals are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.recorded.years import BEGINNING

from penstock.events import (
    Event,
)
from penstock.observe.flows.loads import LoadedStatus
from penstock.observe.lineage import LineageWithStatus
from penstock.observe.log.followed_log import Definitions
from penstock.observe.log.totals import read_from_totals

_LATER = BEGINNING.replace(year=2027)


def answers(events: Iterable[Event]) -> dict[str, Any]:
    """What `status`, `top` and `graph` show, and where tables are."""
    projection, drawn, definitions = LoadedStatus(), LineageWithStatus(), Definitions()
    for event in events:
        projection.apply(event)
        drawn.apply(event)
        definitions.apply(event)
    status, loads = projection.look(_LATER, writer_alive=True)
    gone, _ = projection.look(_LATER, writer_alive=False)
    flows = sorted((load.to_json() for load in loads), key=str)
    since = [(each.name, each.error_since, each.watermark_warning_since) for each in status.datasets]
    return {
        "status": status.to_json(),
        "gone": gone.to_json(),
        "flows": flows,
        "since": since,
        "update": status.update,
        "lineage": drawn.lineage(),
        "definitions": {event.origin.dataset_name: event.details for event in definitions.events},
    }


def from_totals(storage: str) -> list[Event]:
    return read_from_totals(storage).poll()


def names(storage: str) -> list[str]:
    return sorted(path.name for path in (Path(storage) / "events").iterdir())


def stored(storage: str) -> Path:
    return Path(storage) / "events" / "_totals"

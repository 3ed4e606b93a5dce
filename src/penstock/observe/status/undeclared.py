"""Stored tables that the pipeline's files no longer declare."""

from __future__ import annotations

from penstock.events import Event, EventType
from penstock.events.flows.facts import details_of

_NOTICE = "DATASET_NOT_DECLARED"


class UndeclaredDatasets:
    """What the newest update that planned anything found, less what was dropped since. Not thread-safe."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The full names, in the order of their report."""
        return tuple(self._names)

    def apply(self, event: Event) -> None:
        """Takes one event into account."""
        name = event.origin.dataset_name
        match event.event_type:
            case EventType.PLANNING_INFORMATION if details_of(event).get("stages"):
                self._names.clear()
            case EventType.PLANNING_INFORMATION if (event.error or {}).get("condition") == _NOTICE and name:
                self._names[name] = None
            case EventType.USER_ACTION if name and details_of(event).get("action") == "DROP":
                self._names.pop(name, None)
            case _:
                pass

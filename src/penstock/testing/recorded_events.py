"""What the update of a pipeline under test has reported about its batches."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.events import BatchProgress, Event, LateRows, batch_progress_of, late_rows_of_event
from penstock.graph.identifier import Identifier


class RecordedEvents:
    """Keeps the events of an update; any thread may add one. Tables are named in full, `schema.name`."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def add(self, event: Event) -> None:
        """Takes one event."""
        self._events.append(event)

    def batches(self, table: Identifier) -> list[BatchProgress]:
        """Returns the numbers of each batch for a table so far."""
        return [batch for _, batch in self._batches_of(table)]

    def all_batches(self) -> list[BatchProgress]:
        """Returns the numbers of each batch for any table so far."""
        return [batch for event in list(self._events) if (batch := batch_progress_of(event)) is not None]

    def awaits_late_rows(self, table: Identifier) -> bool:
        """Whether there was a batch with late rows whose outcome is not reported yet."""
        counted = {
            (event.origin.flow_name, batch.batch_id) for event, batch in self._batches_of(table) if batch.late_rows
        }
        known = {(event.origin.flow_name, late.batch_id) for event, late in self._late_rows_of(table)}
        return not counted <= known

    def lost_late_rows(self, table: Identifier) -> LateRows | None:
        """Returns what was reported of the first batch whose late rows are not known, None when all are."""
        return next((late for _, late in self._late_rows_of(table) if late.kept is None), None)

    def _of(self, table: Identifier) -> Iterator[Event]:
        name = str(table).casefold()
        return (each for each in list(self._events) if str(each.origin.dataset_name).casefold() == name)

    def _batches_of(self, table: Identifier) -> Iterator[tuple[Event, BatchProgress]]:
        return ((event, batch) for event in self._of(table) if (batch := batch_progress_of(event)) is not None)

    def _late_rows_of(self, table: Identifier) -> Iterator[tuple[Event, LateRows]]:
        return ((event, late) for event in self._of(table) if (late := late_rows_of_event(event)) is not None)

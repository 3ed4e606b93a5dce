"""How the newest refreshes of each materialized view were done: the method, what they read, how long they took."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from penstock.events.flows.facts import FlowFact, flow_key
from penstock.events.flows.refresh import RefreshChoice, refresh_choice_of
from penstock.events.types import Event

REFRESHES: Final = 10
"""Refreshes of a view that are kept; older ones stay in the log only."""


@dataclass(slots=True)
class RefreshOfView:
    """One refresh, which began at `began`.

    `milliseconds` is how long it took, `rows_written` how many rows came into the view; None until it is committed, and
    of one that failed.
    """

    choice: RefreshChoice
    began: datetime
    milliseconds: int | None = None
    rows_written: int | None = None

    @property
    def bytes_saved(self) -> int | None:
        """Bytes that a full refresh would have read beyond those that were; negative where that was less."""
        read, whole = self.choice.bytes_read, self.choice.bytes_in_full
        return None if read is None or whole is None else whole - read


class RefreshProjection:
    """The refreshes of all views, kept up to date event by event. Not thread-safe."""

    def __init__(self) -> None:
        self._views: dict[tuple[str, str], deque[RefreshOfView]] = {}

    def take(self, event: Event, fact: FlowFact | None) -> None:
        """Takes an event into account, of which `FlowFacts` made `fact`."""
        choice, dataset = refresh_choice_of(event), event.origin.dataset_name
        if choice is not None and dataset is not None:
            key = flow_key(dataset, event.origin.flow_name or dataset)
            self._views.setdefault(key, deque(maxlen=REFRESHES)).append(RefreshOfView(choice, event.timestamp))
        elif fact is not None and fact.progress is not None:
            begun = self._views.get(flow_key(fact.dataset, fact.flow))
            if begun and begun[-1].milliseconds is None:
                begun[-1].milliseconds = fact.progress.batch_duration_ms
                begun[-1].rows_written = fact.progress.num_output_rows

    def of(self, dataset: str) -> tuple[RefreshOfView, ...]:
        """Returns the refreshes of a view, the newest first."""
        found = (refreshes for (name, _), refreshes in self._views.items() if name == dataset.casefold())
        return tuple(each for refreshes in found for each in reversed(refreshes))

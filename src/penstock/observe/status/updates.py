"""The updates of a pipeline: when each began, what became of it, what it moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from penstock.errors import StateError
from penstock.events import Event, EventType, FlowStatus, UpdateState
from penstock.events.codec import fields_to_json
from penstock.events.details import mapping, moment, text, texts, total
from penstock.events.flows.facts import FlowFact, FlowProjection, details_of

_MAX_UPDATES: Final = 500


@dataclass(frozen=True, slots=True)
class UpdateStatus:
    """One update as its events describe it.

    `ended` is None while it runs. `last_event_at` is the newest sign of it. `error` is that of the
    update itself, `{condition, message, fix, …}`; those of flows are with their datasets. `rows`
    and `dropped` count what this update wrote and dropped over all flows.
    """

    id: str
    pipeline: str
    state: UpdateState
    started: datetime
    last_event_at: datetime
    ended: datetime | None = None
    cause: str | None = None
    continuous: bool = False
    error: Mapping[str, Any] | None = None
    rows: int = 0
    dropped: int = 0
    failed_flows: tuple[str, ...] = ()

    @property
    def milliseconds(self) -> float | None:
        """How long it took; None while it runs."""
        return None if self.ended is None else 1000 * (self.ended - self.started).total_seconds()

    def interrupted(self) -> UpdateStatus:
        """Returns what remains of an update whose process is gone; one that ended is unchanged."""
        if self.state.terminal:
            return self
        error = StateError("UPDATE_INTERRUPTED", update_id=self.id)
        return replace(self, state=UpdateState.FAILED, ended=self.last_event_at, error=error.to_json())

    def to_json(self) -> dict[str, Any]:
        """Returns the `update` part of `status --json`."""
        document = fields_to_json(self)
        return {name: document[name] for name in ("id", "state", "started", "ended", "cause", "pipeline", "error")}


class UpdateHistory(FlowProjection):
    """The newest 500 updates, kept up to date event by event. Not thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._updates: dict[str, UpdateStatus] = {}
        self._remains: str | None = None

    @property
    def current(self) -> UpdateStatus | None:
        """The newest update."""
        return next(reversed(self._updates.values()), None)

    def updates(self) -> tuple[UpdateStatus, ...]:
        """Returns the updates, newest first. One that was followed by another has ended."""
        return tuple(reversed(self._updates.values()))

    def take(self, event: Event, fact: FlowFact | None) -> None:
        """As `apply`, for an event of which `FlowFacts` made `fact`."""
        if event.event_type is EventType.COMPACTION:  # of the updates before, the log has remains only
            self._updates.clear()
            last = _from_totals(mapping(details_of(event), "update") or {})
            if last is not None:  # it may go on
                self._updates[last.id], self._remains = last, last.id
        if not event.event_type.of_its_update:
            return
        update = self._update_of(event)
        match event.event_type:
            case EventType.CREATE_UPDATE:
                details = details_of(event)
                update = replace(
                    update,
                    cause=text(details, "cause"),
                    continuous=details.get("continuous") is True,
                )
            case EventType.UPDATE_PROGRESS:
                update = _progressed(update, event)
        moved = {} if fact is None else _moved(update, fact)
        self._updates[update.id] = replace(update, last_event_at=event.timestamp, **moved)

    def totals(self) -> dict[str, Any] | None:
        """Returns the newest update for a `compaction` event."""
        return None if self.current is None else fields_to_json(self.current)

    def _update_of(self, event: Event) -> UpdateStatus:
        known = self._updates.get(event.origin.update_id)
        if known is not None:
            return known
        self._updates.pop(self._remains or "", None)
        previous = self.current
        if previous is not None:  # the lock lets one run at a time, so this one's process is gone
            self._updates[previous.id] = previous.interrupted()
        if len(self._updates) >= _MAX_UPDATES:
            del self._updates[next(iter(self._updates))]
        return UpdateStatus(
            id=event.origin.update_id,
            pipeline=event.origin.pipeline_name,
            state=UpdateState.WAITING_FOR_RESOURCES,
            started=event.timestamp,
            last_event_at=event.timestamp,
        )


def _progressed(update: UpdateStatus, event: Event) -> UpdateStatus:
    try:
        state = UpdateState(details_of(event).get("state"))
    except ValueError:
        return update
    return replace(
        update,
        state=state,
        ended=event.timestamp if state.terminal else None,
        error=event.error if event.error is not None else update.error,
    )


def _from_totals(totals: Mapping[str, Any]) -> UpdateStatus | None:
    """Returns the update of a `compaction` event, None when it has none."""
    started, last_event_at = moment(totals, "started"), moment(totals, "last_event_at")
    try:
        state = UpdateState(totals.get("state"))
    except ValueError:
        return None
    if started is None or last_event_at is None:
        return None
    return UpdateStatus(
        id=str(totals.get("id")),
        pipeline=str(totals.get("pipeline")),
        state=state,
        started=started,
        last_event_at=last_event_at,
        ended=moment(totals, "ended"),
        cause=text(totals, "cause"),
        continuous=totals.get("continuous") is True,
        error=mapping(totals, "error"),
        rows=total(totals, "rows"),
        dropped=total(totals, "dropped"),
        failed_flows=texts(totals, "failed_flows"),
    )


def _moved(update: UpdateStatus, fact: FlowFact) -> dict[str, Any]:
    """The fields that a flow's progress changes."""
    moved: dict[str, Any] = {}
    if fact.status is FlowStatus.FAILED and fact.flow not in update.failed_flows:
        moved["failed_flows"] = (*update.failed_flows, fact.flow)
    if fact.progress is not None and not fact.repeats:
        moved["rows"] = update.rows + fact.progress.num_output_rows
        moved["dropped"] = update.dropped + fact.progress.dropped_records
    return moved

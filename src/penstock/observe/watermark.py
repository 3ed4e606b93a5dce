"""What the delay of a table's watermark costs: rows lost, state and latency, from how late rows have come so far.

A row is lost with a delay when it came at least so late (`penstock.events.Lateness`); both sides of that comparison are
known for each row that was measured, so the rows lost are counted, not modelled. What is estimated: that rows to come
are as late as those that came, and the state, which grows in proportion to the event time that it has to hold.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from penstock.errors import ConfigError
from penstock.events import DELAYS_MS, BatchProgress, Event, EventType, FlowStatus, read_events
from penstock.events.codec import json_ready
from penstock.events.details import mapping, total
from penstock.events.flows.compaction import SummedProjection, totals_of
from penstock.events.flows.facts import FlowFact, details_of, flow_key
from penstock.graph.identifier import Identifier
from penstock.observe.stored.tables import find_table

_MILLION: Final = 1_000_000
_Z: Final = 1.959964  # of the normal distribution, for 95 %
_WINDOW_OPERATOR: Final = "aggregate"
_DEFINITIONS: Final = (EventType.DATASET_DEFINITION, EventType.FLOW_DEFINITION)
_RELEVANT: Final = (EventType.CREATE_UPDATE, *_DEFINITIONS, EventType.FLOW_PROGRESS, EventType.COMPACTION)
_SUMS: Final = ("rows", "batches", "all_batches", "rows_read", "all_rows_read", "window_ms")


@dataclass(frozen=True, slots=True)
class DelayCost:
    """What one delay costs.

    `lost` of the rows measured would have been dropped; per million, that is `per_million`, and with 95 % confidence at
    most `at_most_per_million`. `waits_ms` is how long after its end a window is written, None where rows are written at
    once. `state_rows` and `state_bytes` are estimated from the most that there were with the current delay; None
    without any.
    """

    delay_ms: int
    lost: int
    per_million: float
    at_most_per_million: float
    waits_ms: int | None
    state_rows: int | None
    state_bytes: int | None


@dataclass(frozen=True, slots=True)
class WatermarkAdvice:
    """The delays of one flow's watermark, the shortest first; `rows` were measured, in `batches` of `all_batches`.

    Those batches have read `rows_read` of all the `all_rows_read`. `recommended_ms` is the shortest delay with which,
    at 95 % confidence, at most `target` of a million rows are lost; None when there is none, because rows come later
    than the longest, or too few were measured: `rows_needed` without a loss would do. `late` are the rows that were
    late at all, by intervals as `penstock.events.Lateness` has them.
    """

    dataset: str
    flow: str
    column: str | None
    rows: int
    batches: int
    all_batches: int
    rows_read: int
    all_rows_read: int
    current_ms: int
    delays: tuple[DelayCost, ...]
    target: float
    recommended_ms: int | None
    late: Mapping[int, int]

    @property
    def rows_needed(self) -> int:
        """How many rows have to be measured before a delay that loses none of them can be recommended."""
        share = self.target / _MILLION
        return math.ceil(_Z * _Z * (1 - share) / share)

    def to_json(self) -> dict[str, Any]:
        """Returns one element of `watermark --json`."""
        return {
            "dataset": self.dataset,
            "flow": self.flow,
            "column": self.column,
            "rows": self.rows,
            "batches": self.batches,
            "all_batches": self.all_batches,
            "rows_read": self.rows_read,
            "all_rows_read": self.all_rows_read,
            "current_delay_ms": self.current_ms,
            "target_per_million": self.target,
            "recommended_delay_ms": self.recommended_ms,
            "rows_needed": self.rows_needed,
            "delays": json_ready(self.delays),
        }


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """A flow of which it is not counted how late its rows come, and why."""

    dataset: str
    flow: str
    reason: str


@dataclass(slots=True)
class _Measured:
    """What is known of one flow."""

    dataset: str
    flow: str
    rows: int = 0
    batches: int = 0
    all_batches: int = 0
    rows_read: int = 0
    all_rows_read: int = 0
    window_ms: int = 0
    late: Counter[int] = field(default_factory=Counter)
    current_ms: int | None = None
    state_rows: int | None = None
    state_bytes: int | None = None
    last: BatchProgress | None = None

    def totals(self) -> dict[str, Any]:
        late = {str(at): count for at, count in sorted(self.late.items()) if count}
        of_delay = {"delay_ms": self.current_ms, "state_rows": self.state_rows, "state_bytes": self.state_bytes}
        return {**{name: getattr(self, name) for name in _SUMS}, "late": late, **of_delay}

    def take_totals(self, totals: Mapping[str, Any]) -> None:
        for name in _SUMS:
            setattr(self, name, total(totals, name))
        late = mapping(totals, "late") or {}
        self.late = Counter({int(at): total(late, at) for at in late if at.isdecimal()})
        self.current_ms, self.state_rows, self.state_bytes = (
            None if totals.get(name) is None else total(totals, name)
            for name in ("delay_ms", "state_rows", "state_bytes")
        )

    def add(self, progress: BatchProgress, sign: int = 1) -> None:
        lateness = progress.lateness
        has_rows = bool(progress.num_input_rows or (lateness is not None and lateness.rows))
        self.all_batches += sign * has_rows
        self.all_rows_read += sign * progress.num_input_rows
        self.last = progress
        if lateness is None:
            return
        self.rows += sign * lateness.rows
        self.rows_read += sign * progress.num_input_rows
        self.batches += sign * has_rows
        for at, count in lateness.late.items():
            self.late[at] += sign * count
        if lateness.delay_ms != self.current_ms:
            self.current_ms, self.state_rows, self.state_bytes = lateness.delay_ms, None, None
        self.window_ms = max(self.window_ms, lateness.window_ms)
        if progress.state_rows is not None and progress.state_rows >= (self.state_rows or 0):
            self.state_rows, self.state_bytes = progress.state_rows, progress.state_bytes


class WatermarkProjection(SummedProjection):
    """How late the rows of all flows came, kept up to date event by event in the order of the log."""

    PART = "lateness"

    def __init__(self) -> None:
        super().__init__()
        self._flows: dict[tuple[str, str], _Measured] = {}
        self._definitions: dict[tuple[str, str], Any] = {}
        self._not_measured: dict[tuple[str, str], NotMeasured] = {}

    def take(self, event: Event, fact: FlowFact | None) -> None:
        """As `apply`, for an event of which `FlowFacts` made `fact`."""
        if event.event_type is EventType.FLOW_DEFINITION:
            details = details_of(event)
            key = flow_key(str(details.get("output_dataset")), event.origin.flow_name or "")
            self._definitions[key] = details
        for key, totals in totals_of(event, self.PART):
            self._flows.setdefault(key, _Measured(*key)).take_totals(totals)
        if fact is None:
            return
        key = flow_key(fact.dataset, fact.flow)
        if fact.after_full_refresh:
            for other in [each for each in self._flows if each[0] == key[0]]:
                del self._flows[other]
        if fact.progress is None:
            if fact.status is FlowStatus.STARTING:
                self._not_measured.pop(key, None)
            elif (reason := details_of(event).get("lateness_not_measured")) is not None:
                self._not_measured[key] = NotMeasured(fact.dataset, fact.flow, str(reason))
            return
        measured = self._flows.setdefault(key, _Measured(fact.dataset, fact.flow))
        if fact.repeats and measured.last is not None:
            measured.add(measured.last, sign=-1)
        measured.add(fact.progress)

    def totals(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Returns of each flow its totals for a `compaction` event."""
        return {key: measured.totals() for key, measured in self._flows.items()}

    def not_measured(self, dataset: str) -> tuple[NotMeasured, ...]:
        """Returns the flows into `dataset` (`schema.name`, any case) whose last start said that they are not."""
        return tuple(each for key, each in self._not_measured.items() if key[0] == dataset.casefold())

    def advice(self, dataset: str, *, target: float) -> tuple[WatermarkAdvice, ...]:
        """Returns the advice for each measured flow into `dataset` (`schema.name`, any case)."""
        wanted = dataset.casefold()
        return tuple(
            _advice(measured, self._definitions.get(key) or {}, target)
            for key, measured in self._flows.items()
            if key[0] == wanted and measured.rows
        )


@dataclass(frozen=True, slots=True)
class TableAdvice:
    """What is known of the watermarks of a table's flows: those that were measured, and those that are not."""

    flows: tuple[WatermarkAdvice, ...]
    not_measured: tuple[NotMeasured, ...]


def advise(storage_uri: str, table: str, *, default_schema: str, target: float) -> TableAdvice:
    """Returns the advice for each flow of `table` whose rows were measured, from the event log; at least one.

    `target` is how many rows of a million may be lost.

    Raises:
        DefinitionError: INVALID_DATASET_NAME.
        ConfigError: TABLE_NOT_FOUND, with the names that are close; LATENESS_NOT_MEASURED, with the reason.
    """
    identifier = Identifier.parse(table, default_schema=default_schema)
    found = _advice_for(storage_uri, identifier, target)
    if found.flows:
        return found
    definitions = list(read_events(storage_uri, types=_DEFINITIONS))
    flows = _flows_into(identifier, definitions)
    if not flows:
        stored = find_table(storage_uri, table, default_schema=default_schema, events=definitions)
        found = _advice_for(storage_uri, stored.identifier, target)
        if found.flows:
            return found
        flows = _flows_into(stored.identifier, definitions)
    if found.not_measured:
        reason = " ".join(f"The flow '{each.flow}': {each.reason}." for each in found.not_measured)
    elif any(each.get("watermark") and each.get("stateful") for each in flows):
        reason = "No batch of it was counted."
    else:
        reason = "None of its queries has a watermark and an operator with state."
    raise ConfigError("LATENESS_NOT_MEASURED", name=table, reason=reason)


def _advice_for(storage_uri: str, identifier: Identifier, target: float) -> TableAdvice:
    projection = WatermarkProjection()
    for event in read_events(storage_uri, types=_RELEVANT, dataset=str(identifier)):
        projection.apply(event)
    return TableAdvice(projection.advice(str(identifier), target=target), projection.not_measured(str(identifier)))


def _flows_into(identifier: Identifier, definitions: Iterable[Event]) -> list[Mapping[str, Any]]:
    """The newest definition of each flow, as the log has it."""
    wanted = str(identifier).casefold()
    flows = {
        event.origin.flow_name: details_of(event)
        for event in definitions
        if event.event_type is EventType.FLOW_DEFINITION
        and str(details_of(event).get("output_dataset")).casefold() == wanted
    }
    return list(flows.values())


def highest_share(count: int, of: int) -> float:
    """Returns the upper limit of the 95 % confidence interval of a share, of which `count` in `of` were seen.

    It is Wilson's score interval (E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
    Journal of the American Statistical Association 22, 1927): (p + z²/2n + z √(p(1-p)/n + z²/4n²)) / (1 + z²/n).
    """
    if of <= 0:
        return 1.0
    share, square = count / of, _Z * _Z / of
    return (share + square / 2 + math.sqrt(square * (share * (1 - share) + square / 4))) / (1 + square)


def _advice(measured: _Measured, definition: Any, target: float) -> WatermarkAdvice:
    current = measured.current_ms or 0
    waits = definition.get("flow_type") == "append" and _WINDOW_OPERATOR in (definition.get("stateful") or ())
    costs = tuple(_cost(measured, delay, waits=waits) for delay in _delays(measured, current))
    recommended = next((each.delay_ms for each in costs if each.at_most_per_million <= target), None)
    watermark = definition.get("watermark") or {}
    return WatermarkAdvice(
        measured.dataset,
        measured.flow,
        watermark.get("column"),
        measured.rows,
        measured.batches,
        measured.all_batches,
        measured.rows_read,
        measured.all_rows_read,
        current,
        costs,
        target,
        recommended,
        dict(measured.late),
    )


def _delays(measured: _Measured, current: int) -> list[int]:
    """The delays whose loss was counted all the time, up to the first that loses nothing, and the current one."""
    latest = max((at for at, count in measured.late.items() if count), default=-1)
    lossless = next((delay for delay in DELAYS_MS if delay > latest), DELAYS_MS[-1])
    return sorted({current, *(delay for delay in DELAYS_MS if delay <= lossless)})


def _cost(measured: _Measured, delay: int, *, waits: bool) -> DelayCost:
    lost = sum(count for at, count in measured.late.items() if at >= delay)
    held, now = delay + measured.window_ms, (measured.current_ms or 0) + measured.window_ms

    def grown(value: int | None) -> int | None:
        return None if value is None or not now else round(value * held / now)

    return DelayCost(
        delay_ms=delay,
        lost=lost,
        per_million=lost / measured.rows * _MILLION,
        at_most_per_million=highest_share(lost, measured.rows) * _MILLION,
        waits_ms=delay if waits else None,
        state_rows=grown(measured.state_rows),
        state_bytes=grown(measured.state_bytes),
    )


def delay_text(milliseconds: int) -> str:
    """Returns a delay as `withWatermark` takes it: `10 minutes`, `1 hour`, `500 milliseconds`."""
    for unit, size in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1_000)):
        if milliseconds and milliseconds % size == 0:
            number = milliseconds // size
            return f"{number} {unit}" + ("" if number == 1 else "s")
    return f"{milliseconds} milliseconds" if milliseconds else "0 seconds"

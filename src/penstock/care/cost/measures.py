"""What the event log has measured of a pipeline, as the simulation takes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Final

from penstock.care.checkpoints.state_partitions import partitions_of, stored_partitions
from penstock.care.cost.arrivals import Arrivals
from penstock.care.cost.batch_time import BatchTime, fit
from penstock.care.cost.simulation import SimulatedFlow
from penstock.config import PipelineConfig
from penstock.errors import ConfigError, PenstockError
from penstock.events import Event
from penstock.events.flows.facts import FlowFacts
from penstock.graph.identifier import Identifier
from penstock.observe.flows.activity import SPARK_PARTITIONS, ActivityProjection, FlowActivity, Period
from penstock.observe.flows.definitions import FlowDefinition, FlowDefinitionProjection
from penstock.observe.log.followed_log import FollowedLog
from penstock.storage import StorageLayout

DAY: Final = 86_400.0
_EVEN_ROWS: Final = 1_000_000


class CostProjection:
    """What `measure` needs of a log, kept up to date event by event. Not thread-safe."""

    def __init__(self) -> None:
        self.activity = ActivityProjection()
        self.definitions = FlowDefinitionProjection()
        self._facts = FlowFacts()

    def apply(self, event: Event) -> None:
        """Takes one event into account."""
        fact = self._facts.apply(event)
        self.activity.take(event, fact)
        self.definitions.take(event, fact)


@dataclass(frozen=True, slots=True)
class MeasuredFlow:
    """One flow: what its batches took, and what the simulation makes of it.

    `partitions` is into how many its state is divided, None where that is not known.
    """

    dataset: str
    flow: str
    activity: FlowActivity
    simulated: SimulatedFlow
    partitions: int | None = None

    @property
    def requests(self) -> int:
        """How many objects one batch writes at least.

        The entries of the checkpoint's offset and commit logs, the commit of the table and one data file; of each
        stateful operator one file for each partition, of which there are as many as by Spark's default if that is not
        known.
        """
        return 4 + self.activity.state_operators * (self.partitions or SPARK_PARTITIONS)

    def busy_per_day(self, days: float) -> float:
        """Returns for how many seconds a day it was busy; its batches may have begun before the `days` of arrivals."""
        activity = self.activity
        if activity.first is not None and activity.last is not None:
            days = max(days, (activity.last - activity.first) / DAY)
        return activity.busy_ms / 1000 / days


@dataclass(frozen=True, slots=True)
class Measured:
    """A pipeline as its log has it.

    Attributes:
        flows: those with known arrivals, each after those whose tables it reads.
        unknown: the flows of which only one batch, or one read of all history, is in the log.
        begin, end: of the arrivals, seconds since the oldest of them.
        session_start: seconds from the beginning of an update to its first batch; None if no update was seen to begin.
        stop: seconds from the last batch to the end of an update that ends by itself; None if none was seen to end.
        updates: how many beginnings were seen, of the newest ones.
        even: whether arrivals are assumed to be even, because none is known.
    """

    flows: tuple[MeasuredFlow, ...]
    unknown: tuple[str, ...]
    begin: float
    end: float
    session_start: float | None = None
    stop: float | None = None
    updates: int = 0
    even: bool = False

    @property
    def days(self) -> float:
        """The length of the history in days."""
        return (self.end - self.begin) / DAY

    @property
    def batches(self) -> int:
        """The batches of all flows."""
        return sum(flow.activity.batches for flow in self.flows)

    @property
    def resolution(self) -> float:
        """The median length of the periods within which arrivals are taken to be even, in seconds."""
        lengths = [period.end - period.start for flow in self.flows for period in flow.activity.periods]
        return median(lengths) if lengths else 0.0


def measure(storage_uri: str, *, name: str, sight: Callable[[Event], Event | None] = lambda event: event) -> Measured:
    """Reads what is known of the pipeline `name` from its event log, of each event what `sight` returns.

    Raises:
        ConfigError: COST_NOT_MEASURED, with what is missing; STORAGE_NOT_READABLE, STORAGE_SCHEME_UNSUPPORTED.
    """
    found = measured_of(FollowedLog(storage_uri, CostProjection, sight).look(), name=name)
    return with_stored_partitions(found, storage_uri)


def with_stored_partitions(measured: Measured, storage_uri: str) -> Measured:
    """Returns the pipeline with the partitions that the state in its checkpoints has; what is not readable stays."""
    layout, flows = StorageLayout(storage_uri), list[MeasuredFlow]()
    for flow in measured.flows:
        stored = None
        if flow.activity.state_operators:
            with suppress(PenstockError):
                stored = stored_partitions(layout, Identifier.recorded(flow.dataset), flow.flow)
        flows.append(replace(flow, partitions=stored or flow.partitions))
    return replace(measured, flows=tuple(flows))


def measured_of(projection: CostProjection, *, name: str) -> Measured:
    """Returns what is known of the pipeline `name`.

    Raises:
        ConfigError: COST_NOT_MEASURED, with what is missing.
    """
    return measured(projection.activity.flows(), projection.definitions.declared(), name=name)


def measured(activities: Sequence[FlowActivity], definitions: Sequence[FlowDefinition], *, name: str) -> Measured:
    """Returns what the activity of flows says; those that are no longer declared are left out.

    Raises:
        ConfigError: COST_NOT_MEASURED.
    """
    declared = {_key(each.dataset, each.flow): each for each in definitions}
    current = [each for each in activities if not declared or _key(each.dataset, each.flow) in declared]
    current = [each for each in current if each.batches]
    if not current:
        raise ConfigError("COST_NOT_MEASURED", name=name, reason="Its event log has no batch.")
    inputs = _inputs(current, declared)
    flows, unknown = _ordered(current, inputs, declared)
    curves = [flow.simulated.arrivals for flow in flows if flow.simulated.arrivals.times]
    if not curves:
        count = sum(each.batches for each in current)
        batches = (
            "Its event log has one batch" if count == 1 else f"The {count} batches of its event log are of one run"
        )
        reason = f"{batches}: when rows arrive is known from the second one on."
        raise ConfigError("COST_NOT_MEASURED", name=name, reason=reason)
    starts = [each.starts for each in current if each.starts]
    ends = [each.ends for each in current if each.ends]
    return Measured(
        tuple(flows),
        tuple(unknown),
        begin=min(curve.times[0] for curve in curves),
        end=max(curve.times[-1] for curve in curves),
        session_start=min(median(each) for each in starts) if starts else None,
        stop=min(median(each) for each in ends) if ends else None,
        updates=max((len(each) for each in starts), default=0),
    )


def configured_cores(config: PipelineConfig) -> float | None:
    """Returns how many cores the pipeline's settings give it, None where they leave it to the cluster."""
    local = re.fullmatch(r"local\[(\d+)(?:, ?\d+)?\]", config.master)
    if local is not None:
        return float(local.group(1))
    executors = [config.spark_conf.get(f"spark.executor.{name}", "") for name in ("instances", "cores")]
    if all(text.isdecimal() for text in executors):
        return float(executors[0]) * float(executors[1]) or None
    return None


def assumed(name: str) -> Measured:
    """Returns a pipeline of which nothing was measured: a day in which rows arrive evenly."""
    activity = FlowActivity(name, name, periods=[Period(0.0, DAY, _EVEN_ROWS, 1)], rows=_EVEN_ROWS)
    flow = MeasuredFlow(name, name, activity, SimulatedFlow(Arrivals(activity.periods), BatchTime(0.0, 0.0)))
    return Measured((flow,), (), 0.0, DAY, even=True)


def _key(dataset: str, flow: str) -> tuple[str, str]:
    return dataset.casefold(), flow.casefold()


def _inputs(activities: Sequence[FlowActivity], declared: Mapping[tuple[str, str], FlowDefinition]) -> list[list[int]]:
    """Of each flow the numbers of the flows into the tables that it reads."""
    found: list[list[int]] = []
    for number, activity in enumerate(activities):
        definition = declared.get(_key(activity.dataset, activity.flow))
        names = {each.casefold() for each in definition.inputs} if definition is not None else set()
        found.append([at for at, each in enumerate(activities) if at != number and each.dataset.casefold() in names])
    return found


@dataclass(slots=True)
class _Placing:
    flows: list[MeasuredFlow] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    origin: float = 0.0


def _ordered(
    activities: Sequence[FlowActivity],
    inputs: Sequence[Sequence[int]],
    declared: Mapping[tuple[str, str], FlowDefinition],
) -> tuple[list[MeasuredFlow], list[str]]:
    starts = [period.start for activity in activities for period in activity.periods[:1]]
    placing = _Placing(origin=min(starts, default=0.0))
    left = list(range(len(activities)))
    while left:
        ready = [at for at in left if not any(each in left for each in inputs[at])] or left[:1]  # tables in a circle
        for at in ready:
            _place(placing, at, activities[at], [each for each in inputs[at] if each in placing.places], declared)
        left = [at for at in left if at not in ready]
    return placing.flows, placing.unknown


def _place(
    placing: _Placing,
    number: int,
    activity: FlowActivity,
    inputs: Sequence[int],
    declared: Mapping[tuple[str, str], FlowDefinition],
) -> None:
    definition = declared.get(_key(activity.dataset, activity.flow))
    read = [placing.places[each] for each in inputs]
    own_sources = definition is not None and bool(definition.sources)
    arrivals = Arrivals(activity.periods, placing.origin)
    if read and not own_sources:
        arrivals = _of_inputs(arrivals, activity, [placing.flows[each].simulated.arrivals for each in read])
    if not arrivals.times:
        placing.unknown.append(activity.flow)
        if not activity.replaces:
            return
    samples = activity.all_samples()
    time = fit(samples) if samples else BatchTime(0.0, 0.0)
    if activity.replaces:
        seconds = median(each.milliseconds for each in samples) / 1000 if samples else 0.0
        time = BatchTime(seconds, 0.0, most_rows=time.most_rows)
    query_start = median(activity.query_starts) if activity.query_starts else 0.0
    simulated = SimulatedFlow(arrivals, time, tuple(read), view=activity.replaces, query_start=query_start)
    placing.places[number] = len(placing.flows)
    recorded = partitions_of(definition, None)
    placing.flows.append(MeasuredFlow(activity.dataset, activity.flow, activity, simulated, recorded))


def _of_inputs(own: Arrivals, activity: FlowActivity, inputs: Sequence[Arrivals]) -> Arrivals:
    """Rows of a table that reads others come when those of the others came, in proportion."""
    known = [each for each in inputs if each.times]
    if not known or activity.replaces:
        return Arrivals.combined(known, 1.0)
    if not own.times:
        return own
    passed = sum(each.until(own.times[-1]) - each.until(own.times[0]) for each in known)
    return Arrivals.combined(known, own.total / passed) if passed > 0 else own

"""The measured load of a pipeline: batches, arrivals and cores, as the advisers take them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final

from penstock.care.cost.batch_time import BatchTime, fit
from penstock.care.doctor.checks.outcome import counted, keeps_going
from penstock.care.doctor.facts import StorageFacts
from penstock.care.doctor.settings import SettingsFacts
from penstock.events.flows.facts import flow_key
from penstock.observe.flows.activity import BatchSample, FlowActivity, Period
from penstock.observe.flows.history import FlowHistory

ENOUGH: Final = 20
"""Batches with rows without which nothing is said about a flow; ours."""

HOUR: Final = 3_600.0
DAY: Final = 86_400.0
_CORES: Final = "spark.executor.cores"
_LARGE: Final = 0.95
_CONTINUOUS_TARGET: Final = 10.0
_STOPPING_TARGET: Final = 60.0


@dataclass(frozen=True, slots=True)
class FlowLoad:
    """One flow: its newest batches, and its batches over all of the log."""

    flow: FlowHistory
    activity: FlowActivity | None = None
    files: tuple[int, ...] = ()
    """How many files each of its newest batches with files read, oldest first, as its checkpoint says."""

    @property
    def name(self) -> str:
        """What people and commands call it."""
        return self.flow.name

    @property
    def formats(self) -> set[str]:
        """The formats of its sources outside of the pipeline, in lower case."""
        return {kind.casefold() for kind, _ in self.flow.definition.sources}

    @property
    def sources(self) -> int:
        """How many sources it reads, tables of the pipeline included."""
        return len(self.flow.definition.sources) + len(self.flow.definition.inputs)

    @property
    def enough(self) -> bool:
        """Whether it had so many batches with rows that something can be said."""
        return len(self.flow.with_rows) >= ENOUGH

    @property
    def missing(self) -> str:
        """Returns what is missing until then."""
        return f"{counted(len(self.flow.with_rows), 'batch')} with rows, {ENOUGH} are needed."

    @property
    def basis(self) -> str:
        """Returns `1,204 batches in 12.3 days`."""
        if self.activity is None or self.activity.first is None or self.activity.last is None:
            batches, seconds = self.flow.batches, 0.0
            if batches:
                seconds = (batches[-1].at - batches[0].at).total_seconds()
            return f"{counted(len(batches), 'batch')} in {_span(seconds)}"
        return f"{counted(self.activity.batches, 'batch')} in {_span(self.activity.last - self.activity.first)}"

    @property
    def rows(self) -> int:
        """The rows that 95 % of the newest batches with rows do not exceed."""
        return round(percentile([(each.progress.num_input_rows, 1) for each in self.flow.with_rows], _LARGE))

    @property
    def time(self) -> BatchTime | None:
        """How long a batch takes as a function of its rows; None without a batch whose time is known."""
        samples = [] if self.activity is None else self.activity.all_samples()
        samples = samples or [
            BatchSample(each.progress.num_input_rows, each.progress.batch_duration_ms, first=False)
            for each in self.flow.with_rows
            if each.progress.batch_duration_ms
        ]
        return fit(samples) if samples else None

    @property
    def periods(self) -> list[Period]:
        """When its rows arrived."""
        return [] if self.activity is None else [each for each in self.activity.periods if each.end > each.start]

    def busiest_hour(self) -> float | None:
        """Returns the rows a second of the hour in which most arrived; the mean of less than that, None if unknown."""
        rows, seconds = defaultdict[int, float](float), defaultdict[int, float](float)
        for each in self.periods:
            for hour, share in shares_by_hour(each):
                rows[hour] += share * each.rows
                seconds[hour] += share * (each.end - each.start)
        rates = [rows[hour] / length for hour, length in seconds.items() if length >= HOUR / 2]
        return max(rates) if rates else self.mean_arrivals()

    def mean_arrivals(self) -> float | None:
        """Returns the rows that arrive a second on average; None where it is not known."""
        seconds = sum(each.end - each.start for each in self.periods)
        return sum(each.rows for each in self.periods) / seconds if seconds else None


@dataclass(frozen=True, slots=True)
class PipelineLoad:
    """A pipeline with its settings; `flows` are those of the newest update."""

    facts: StorageFacts
    settings: SettingsFacts
    flows: tuple[FlowLoad, ...] = ()

    @property
    def no_executors(self) -> str:
        """Why settings of executors do not apply to a local master."""
        return f"There are no executors (master {self.settings.master})."

    def conf(self, key: str, default: str) -> str:
        """Returns the value of a setting of Spark that a session gets, else Spark's own default."""
        return self.settings.conf.get(key, default)

    def number(self, key: str, default: float) -> float:
        """As `conf`, of a setting that is a number; the default where it is none."""
        try:
            return float(self.settings.conf.get(key, default))
        except ValueError:
            return default

    @property
    def target_seconds(self) -> float:
        """How long a batch should take at most."""
        if self.settings.continuous and self.settings.interval:
            return self.settings.interval
        return _CONTINUOUS_TARGET if keeps_going(self.facts, self.settings) else _STOPPING_TARGET

    @property
    def executors(self) -> int | None:
        """How many executors the newest batches had, by their median; None where the log does not say."""
        known = [each.executors for load in self.flows for each in load.flow.with_rows if each.executors]
        return round(median(known)) if known else None

    @property
    def cores(self) -> int | None:
        """How many tasks run at a time; None where that is not known, see `cores_missing`."""
        if self.settings.cores is not None:
            return self.settings.cores
        if self.executors is None or (_CORES not in self.settings.conf and self._is_standalone):
            return None
        return self.executors * round(self.number(_CORES, 1))

    @property
    def cores_missing(self) -> str:
        """Why the number of cores is not known."""
        if self.executors is None:
            return "The log has no batch with a known number of executors."
        return "spark.executor.cores is not set: an executor of a standalone master has all cores of its machine."

    @property
    def _is_standalone(self) -> bool:
        return self.settings.master.startswith(("spark://", "local-cluster"))


def load_of(facts: StorageFacts, settings: SettingsFacts, files: Mapping[str, tuple[int, ...]]) -> PipelineLoad:
    """Returns the load; `files` are the counts of `read_file_counts`."""
    known = {flow_key(each.dataset, each.flow): each for each in facts.activity}
    flows = tuple(
        FlowLoad(each, known.get(flow_key(each.definition.dataset, each.definition.flow)), files.get(each.name, ()))
        for each in facts.history.flows
    )
    return PipelineLoad(facts, settings, flows)


def shares_by_hour(period: Period) -> Iterator[tuple[int, float]]:
    """Yields each hour since 1970 that a period touches, with the share of the period that is in it."""
    for hour in range(int(period.start // HOUR), int(period.end // HOUR) + 1):
        overlap = min(period.end, (hour + 1) * HOUR) - max(period.start, hour * HOUR)
        if overlap > 0:
            yield hour, overlap / (period.end - period.start)


def percentile(weighted: Iterable[tuple[float, float]], share: float) -> float:
    """Returns the smallest value that `share` of the weight does not exceed; there must be one value at least."""
    ordered = sorted(weighted)
    whole, passed = sum(weight for _, weight in ordered), 0.0
    for value, weight in ordered:
        passed += weight
        if passed >= share * whole:
            return value
    return ordered[-1][0]


def _span(seconds: float) -> str:
    if seconds >= DAY:
        return f"{seconds / DAY:,.1f} days"
    return f"{seconds / 3600:.1f} hours" if seconds >= 3600 else f"{seconds / 60:.0f} minutes"

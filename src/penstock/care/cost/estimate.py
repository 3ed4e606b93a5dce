"""What each schedule costs a day and how fresh its tables are, and which one to take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from penstock.care.cost.measures import DAY, Measured, MeasuredFlow
from penstock.care.cost.prices import Prices
from penstock.care.cost.schedules import Schedule
from penstock.care.cost.simulation import (
    SimulatedFlow,
    Simulation,
    Surroundings,
    freshness,
    interruption_times,
    percentiles,
    simulate,
)
from penstock.errors import ConfigError

_MILLION: Final = 1_000_000
_MONTH_DAYS: Final = 30.0
_STEPS: Final = 20_000
"""So many batches of all flows are simulated of one schedule that is always on; of more, parts of the history."""

_PARTS: Final = 8

_LEAST_DAYS: Final = 1 / 24
_SLACK: Final = 1.05
_MEASURED: Final = 1.05
"""Up to this many times the largest measured batch, a batch is of a size that was measured."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What is to be different from what was measured, and the goal.

    Attributes:
        cores: of the cluster; None as they were.
        measured_cores: with which the log was recorded, where the price file does not say.
        spot: the share of the workers that are spot machines.
        interruptions_per_hour: of one spot machine; None as the price file says.
        run_time: how long a run of AvailableNow takes, in seconds, in place of what was measured.
        goal: the p95 of freshness that is enough, in seconds.
    """

    cores: float | None = None
    measured_cores: float | None = None
    spot: float = 0.0
    interruptions_per_hour: float | None = None
    run_time: float | None = None
    goal: float | None = None


@dataclass(frozen=True, slots=True)
class TableCost:
    """One table on one schedule: its share of the cluster by busy time, its own requests and storage.

    `busy` is the sum of its flows, each of which is busy for a day a day at most.
    `p50` and `p95` are its freshness in seconds; None without rows.
    """

    dataset: str
    cost: float
    rows: float
    per_million: float | None
    busy: float
    p50: float | None
    p95: float | None


@dataclass(frozen=True, slots=True)
class ScheduleCost:
    """One schedule, all a day: `cost` is `compute` + `requests` + `storage`.

    Attributes:
        hours_on: of the cluster.
        runs: starts of the cluster, 0 when it is always on.
        batches: of all flows.
        p50, p95: freshness in seconds of the table that is the least fresh; None where it was not simulated.
        saving: the share by which it is cheaper than the dearest schedule that is always on.
        days: how much of the history was replayed.
        extrapolated: how many times as large the largest batch is as the largest that was measured.
        on_frontier: whether no schedule is both cheaper and fresher.
        recommended: whether it is the cheapest that meets the goal.
    """

    schedule: Schedule
    cost: float
    compute: float
    requests: float
    storage: float
    hours_on: float
    runs: float
    batches: float
    p50: float | None
    p95: float | None
    days: float
    extrapolated: float
    tables: tuple[TableCost, ...]
    saving: float = 0.0
    on_frontier: bool = False
    recommended: bool = False

    @property
    def is_extrapolated(self) -> bool:
        """Whether the largest batch is larger than what was measured; by less than 5 % does not count."""
        return self.extrapolated >= _MEASURED


@dataclass(frozen=True, slots=True)
class Estimate:
    """All schedules, in the order in which they were asked for; `left_out` need more history than there is."""

    name: str
    measured: Measured
    prices: Prices
    what_if: WhatIf
    hour: float
    cores: float | None
    schedules: tuple[ScheduleCost, ...]
    left_out: tuple[Schedule, ...]

    @property
    def chosen(self) -> ScheduleCost:
        """The recommended schedule; without one, the first, which is always on."""
        return next((each for each in self.schedules if each.recommended), self.schedules[0])


def estimate(
    measured: Measured,
    prices: Prices,
    schedules: Sequence[Schedule],
    *,
    name: str,
    what_if: WhatIf = WhatIf(),
    table_bytes: Mapping[str, int] | None = None,
) -> Estimate:
    """Simulates each schedule and prices it; `table_bytes` are the sizes of tables, by their names in lower case.

    Raises:
        ConfigError: COST_CORES_UNKNOWN.
    """
    cluster, cores, flows = prices.cluster, prices.cluster.cores or what_if.measured_cores, list(measured.flows)
    if what_if.cores is not None:
        if not cores:
            raise ConfigError("COST_CORES_UNKNOWN", cores=f"{what_if.cores:g}")
        cluster = cluster.with_cores(what_if.cores, cores)
        flows = [_with_cores(flow, (cluster.cores or what_if.cores) / cores) for flow in flows]
        cores = cluster.cores or what_if.cores
    hour = cluster.hour(what_if.spot, prices.spot.discount)
    rate = what_if.interruptions_per_hour
    rate = prices.spot.interruptions_per_hour if rate is None else rate
    surroundings = Surroundings(
        cluster_start=cluster.start,
        session_start=measured.session_start or 0.0,
        stop=measured.stop or 0.0,
        run_time=what_if.run_time,
        interruptions=interruption_times(rate * what_if.spot * cluster.workers, 0.0, measured.end - measured.begin),
        recovery=prices.spot.recovery,
    )
    surroundings = replace(surroundings, interruptions=[measured.begin + each for each in surroundings.interruptions])
    changed = replace(measured, flows=tuple(flows))
    basis = _Basis(changed, prices, hour, surroundings, table_bytes or {})
    fitting = [each for each in schedules if _fits(each, changed)]
    costs = [_cost(basis, each) for each in fitting]
    return Estimate(
        name,
        changed,
        prices,
        what_if,
        hour,
        cores,
        _marked(costs, what_if.goal),
        tuple(each for each in schedules if each not in fitting),
    )


def _with_cores(flow: MeasuredFlow, factor: float) -> MeasuredFlow:
    return replace(flow, simulated=replace(flow.simulated, time=flow.simulated.time.with_cores(factor)))


def _fits(schedule: Schedule, measured: Measured) -> bool:
    return schedule.interval <= _SLACK * (measured.end - measured.begin)


@dataclass(frozen=True, slots=True)
class _Basis:
    """What is the same for all schedules."""

    measured: Measured
    prices: Prices
    hour: float
    surroundings: Surroundings
    table_bytes: Mapping[str, int]

    def requests(self, number: int, batches: float) -> float:
        """What the requests of a flow's batches cost: each writes its objects, and reads and lists about as many."""
        price = self.prices.write_per_1000 + self.prices.read_per_1000
        return batches * self.measured.flows[number].requests * price / 1000

    def storage(self, dataset: str) -> float:
        """What a table costs a day where it lies."""
        return self.table_bytes.get(dataset.casefold(), 0) / 1e9 * self.prices.storage_gb_month / _MONTH_DAYS


def _cost(basis: _Basis, schedule: Schedule) -> ScheduleCost:
    measured, surroundings = basis.measured, basis.surroundings
    simulation = _replay(basis, schedule)
    on = sum(stop - start for start, stop in simulation.runs)
    days = simulation.seconds / DAY
    hours_on = min(on / days / 3600, 24.0)
    known = not measured.even or not schedule.always_on
    compute = hours_on * basis.hour
    tables = _tables(basis, simulation, days, compute)
    requests = sum(basis.requests(number, len(each)) for number, each in enumerate(simulation.batches)) / days
    storage = sum(basis.storage(each.dataset) for each in tables)
    largest = [_extrapolated(flow.simulated, simulation, number) for number, flow in enumerate(measured.flows)]
    p50s = [each.p50 for each in tables if each.p50 is not None and known]
    p95s = [each.p95 for each in tables if each.p95 is not None and known]
    return ScheduleCost(
        schedule,
        cost=compute + requests + storage,
        compute=compute,
        requests=requests,
        storage=storage,
        hours_on=hours_on,
        runs=0.0 if schedule.always_on else len(simulation.runs) / days,
        batches=sum(map(len, simulation.batches)) / days,
        p50=max(p50s, default=None),
        p95=max(p95s, default=None),
        days=days,
        extrapolated=max(largest, default=0.0) if surroundings.run_time is None else 0.0,
        tables=tuple(tables) if known else (),
    )


def _replay(basis: _Basis, schedule: Schedule) -> Simulation:
    """Simulates the whole history; of a schedule with very many batches some parts of it, evenly spread."""
    measured, days = basis.measured, _days_to_replay(basis.measured, schedule)
    parts = 1 if days >= measured.days else _PARTS
    length, step = DAY * days / parts, DAY * measured.days / parts
    flows = [flow.simulated for flow in measured.flows]
    whole = Simulation([[] for _ in flows])
    for part in range(parts):
        begin = measured.begin + part * step
        end = begin + length
        if not schedule.always_on:  # whole intervals, so that no hour of the day counts more than others
            end = begin + max(int(length * _SLACK / schedule.interval), 1) * schedule.interval
        found = simulate(flows, schedule, begin, end, basis.surroundings)
        whole.runs.extend(found.runs)
        whole.seconds += found.seconds
        for batches, more in zip(whole.batches, found.batches, strict=True):
            batches.extend(more)
    return whole


def _days_to_replay(measured: Measured, schedule: Schedule) -> float:
    """The whole history, or as much of it as makes _STEPS batches."""
    if not schedule.always_on:
        return measured.days
    per_day = 0.0
    for flow in measured.flows:
        seconds = max(flow.simulated.time.seconds(1), schedule.interval, 0.001)
        rows = flow.simulated.arrivals.total / measured.days
        per_day += min(DAY / seconds, rows)  # no more batches than rows
    return min(measured.days, max(_STEPS / max(per_day, 1.0), _LEAST_DAYS))


def _extrapolated(flow: SimulatedFlow, simulation: Simulation, number: int) -> float:
    largest = max((batch.after - batch.before for batch in simulation.batches[number]), default=0)
    return 0.0 if flow.view else largest / max(flow.time.most_rows, 1)


@dataclass(slots=True)
class _OfTable:
    name: str
    busy: float = 0.0
    rows: float = 0.0
    requests: float = 0.0
    ages: list[tuple[float, float]] = field(default_factory=list)


def _tables(basis: _Basis, simulation: Simulation, days: float, compute: float) -> list[TableCost]:
    """Splits what the cluster costs a day by the time for which the batches of each table were busy."""
    measured, found = basis.measured, dict[str, _OfTable]()
    for number, flow in enumerate(measured.flows):
        table = found.setdefault(flow.dataset.casefold(), _OfTable(flow.dataset))
        table.busy += min(simulation.busy(number) / days, DAY)  # its last batch may end after the history
        table.requests += basis.requests(number, len(simulation.batches[number])) / days
        table.rows += 0 if flow.simulated.view else flow.simulated.arrivals.total / measured.days
        table.ages.extend(freshness(flow.simulated.arrivals, simulation.batches[number]))
    whole = sum(table.busy for table in found.values())
    costs: list[TableCost] = []
    for table in found.values():
        share = table.busy / whole if whole else 1 / len(found)
        cost = compute * share + table.requests + basis.storage(table.name)
        per_million = cost / table.rows * _MILLION if table.rows and not measured.even else None
        p50, p95 = percentiles(table.ages, (0.5, 0.95))
        costs.append(TableCost(table.name, cost, table.rows, per_million, table.busy, p50, p95))
    return costs


def _marked(costs: Sequence[ScheduleCost], goal: float | None) -> tuple[ScheduleCost, ...]:
    """Marks the frontier and the cheapest schedule for the goal, and compares with the dearest that is always on."""
    dearest = max((each.cost for each in costs if each.schedule.always_on), default=0.0)
    fresh_enough = [each for each in costs if goal is not None and each.p95 is not None and each.p95 <= goal]
    best = min(fresh_enough, key=lambda each: (each.cost, each.p95), default=None)
    return tuple(
        replace(
            each,
            saving=1 - each.cost / dearest if dearest else 0.0,
            on_frontier=each.p95 is not None and not any(_dominates(other, each) for other in costs),
            recommended=each is best,
        )
        for each in costs
    )


def _dominates(one: ScheduleCost, other: ScheduleCost) -> bool:
    """Whether the one is at least as good in both cost and freshness, and better in one of them."""
    if one.p95 is None or other.p95 is None:
        return False
    as_good = one.cost <= other.cost and one.p95 <= other.p95
    return as_good and (one.cost < other.cost or one.p95 < other.p95)

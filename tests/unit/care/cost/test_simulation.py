"""The simulation: by hand for small cases, by its laws for others."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.care.cost.arrivals import Arrivals
from penstock.care.cost.batch_time import BatchTime
from penstock.care.cost.schedules import Schedule, ScheduleKind
from penstock.care.cost.simulation import (
    SimulatedFlow,
    Surroundings,
    freshness,
    interruption_times,
    percentiles,
    simulate,
)
from penstock.observe.flows.activity import Period

_HOUR = 3600.0


def _even(rows: int, end: float = _HOUR) -> Arrivals:
    return Arrivals([Period(0.0, end, rows, 1)])


def _on(interval: float = 0.0) -> Schedule:
    return Schedule(ScheduleKind.ALWAYS_ON, interval)


def _runs(interval: float) -> Schedule:
    return Schedule(ScheduleKind.AVAILABLE_NOW, interval)


def test_arrivals_are_even_within_a_period_and_add_up_where_periods_overlap() -> None:
    arrivals = Arrivals([Period(0, 10, 100, 1), Period(5, 10, 50, 1), Period(20, 30, 10, 1)])
    assert [arrivals.until(moment) for moment in (-1, 0, 5, 10, 15, 25, 99)] == pytest.approx(
        [0, 0, 50, 150, 150, 155, 160]
    )
    assert arrivals.time_of(50) == pytest.approx(5)
    assert arrivals.time_of(155) == pytest.approx(25)
    assert arrivals.time_of(161) is None


def test_a_trigger_starts_batches_at_multiples_of_its_interval() -> None:
    flow = SimulatedFlow(_even(3600), BatchTime(2.0, 0.0))
    batches = simulate([flow], _on(60), 0, _HOUR, Surroundings()).batches[0]
    assert [batch.start for batch in batches[:4]] == [60, 120, 180, 240]
    assert {batch.start % 60 for batch in batches} == {0}
    assert batches[1].after - batches[1].before == 60
    assert batches[1].end == batches[1].start + 2


def test_a_batch_that_takes_longer_than_the_interval_is_followed_at_the_next_multiple() -> None:
    flow = SimulatedFlow(_even(3600), BatchTime(90.0, 0.0))
    batches = simulate([flow], _on(60), 0, _HOUR, Surroundings()).batches[0]
    assert batches[1].start - batches[0].start == 120


def test_without_an_interval_the_next_batch_starts_at_once() -> None:
    flow = SimulatedFlow(_even(3600), BatchTime(2.0, 0.0))
    batches = simulate([flow], _on(), 0, _HOUR, Surroundings()).batches[0]
    assert batches[5].start == batches[4].end
    assert batches[5].after - batches[5].before == 2


def test_nothing_runs_while_nothing_arrives() -> None:
    arrivals = Arrivals([Period(0, 1, 10, 1), Period(3000, 3001, 10, 1)])
    batches = simulate([SimulatedFlow(arrivals, BatchTime(5.0, 0.0))], _on(), 0, _HOUR, Surroundings()).batches[0]
    assert not [batch for batch in batches if 20 < batch.start < 3000]
    assert batches[-1].after == 20


def test_a_run_pays_for_the_start_of_cluster_and_session_and_for_the_end() -> None:
    flow = SimulatedFlow(_even(3600), BatchTime(10.0, 0.01, warm_up=5.0))
    surroundings = Surroundings(cluster_start=120, session_start=20, stop=4)
    simulation = simulate([flow], _runs(600), 0, _HOUR, surroundings)
    assert len(simulation.runs) == 6
    start, stop = simulation.runs[1]
    assert start == 1200
    assert stop - start == pytest.approx(120 + 20 + 10 + 0.01 * 600 + 5 + 4)
    assert simulation.batches[0][1].start == 1340


def test_a_table_waits_for_the_one_that_it_reads() -> None:
    first = SimulatedFlow(_even(3600), BatchTime(10.0, 0.0))
    second = SimulatedFlow(_even(3600), BatchTime(20.0, 0.0), inputs=(0,))
    simulation = simulate([first, second], _runs(600), 0, _HOUR, Surroundings())
    assert simulation.batches[1][0].start == simulation.batches[0][0].end
    assert simulation.runs[0] == (600, 630)


def test_a_query_that_waited_for_its_input_must_start_first_with_new_rows_or_without() -> None:
    first = SimulatedFlow(_even(3600), BatchTime(10.0, 0.0), query_start=5.0)
    second = SimulatedFlow(_even(3600), BatchTime(20.0, 0.0), inputs=(0,), query_start=3.0)
    simulation = simulate([first, second], _runs(600), 0, _HOUR, Surroundings(session_start=7.0))
    assert simulation.batches[0][0].start == 607, "what the first queries need is part of the session's start"
    assert simulation.batches[1][0].start == 620
    assert simulation.runs[:1] == [(600, 640)]
    silent = SimulatedFlow(Arrivals([Period(0, 1, 1, 1)]), BatchTime(20.0, 0.0), inputs=(0,), query_start=3.0)
    assert simulate([first, silent], _runs(600), 0, _HOUR, Surroundings()).runs[1:2] == [(1200, 1213)]
    assert simulate([first, second], _on(60), 0, _HOUR, Surroundings()).batches[1][0].start % 60 == 0


def test_a_table_reads_what_the_other_has_committed() -> None:
    first = SimulatedFlow(_even(3600), BatchTime(10.0, 0.0))
    second = SimulatedFlow(_even(3600), BatchTime(1.0, 0.0), inputs=(0,))
    one, two = simulate([first, second], _on(), 0, _HOUR, Surroundings()).batches
    for batch in two:
        committed = max((each.after for each in one if each.end <= batch.start), default=0)
        assert batch.after <= committed
    assert two[-1].after >= 3580


def test_a_silent_input_holds_nothing_up() -> None:
    silent = SimulatedFlow(Arrivals([Period(0, 1, 1, 1)]), BatchTime(1.0, 0.0))
    busy = SimulatedFlow(_even(3600), BatchTime(1.0, 0.0))
    both = SimulatedFlow(_even(3600), BatchTime(1.0, 0.0), inputs=(0, 1))
    assert simulate([silent, busy, both], _on(60), 0, _HOUR, Surroundings()).batches[2][-1].after >= 3400


def test_a_run_that_is_too_long_moves_the_next_one() -> None:
    flow = SimulatedFlow(_even(3600), BatchTime(900.0, 0.0))
    runs = simulate([flow], _runs(600), 0, _HOUR, Surroundings()).runs
    assert [start for start, _ in runs] == [600, 1800, 3000]


def test_a_run_without_rows_that_takes_no_time_is_followed_by_the_next() -> None:
    flow = SimulatedFlow(Arrivals([Period(0.0, 1.0, 1, 1)]), BatchTime(1.0, 0.0))
    runs = simulate([flow], _runs(300), 0, _HOUR, Surroundings()).runs
    assert [start for start, _ in runs] == [300.0 * number for number in range(1, 13)]
    assert runs[1] == (600, 600)


def test_the_time_of_a_run_may_be_given() -> None:
    flow = SimulatedFlow(_even(86_400, 86_400), BatchTime(1.0, 0.0))
    simulation = simulate([flow], _runs(_HOUR), 0, 86_400, Surroundings(cluster_start=99, run_time=900))
    assert sum(stop - start for start, stop in simulation.runs) == 24 * 900
    p50, p95 = percentiles(freshness(flow.arrivals, simulation.batches[0]), (0.5, 0.95))
    assert p50 == pytest.approx(900 + 0.5 * _HOUR, rel=0.01)
    assert p95 == pytest.approx(900 + 0.95 * _HOUR, rel=0.01)


def test_an_interrupted_batch_begins_again_after_the_recovery() -> None:
    surroundings = Surroundings(interruptions=(5.0, 70.0), recovery=30.0)
    assert surroundings.end(0, 4) == 4
    assert surroundings.end(0, 10) == 45
    assert surroundings.end(0, 40) == 140


def test_interruptions_come_at_their_rate_and_are_the_same_each_time() -> None:
    times = interruption_times(2.0, 0, 1000 * _HOUR)
    assert len(times) == pytest.approx(2000, rel=0.1)
    assert times == interruption_times(2.0, 0, 1000 * _HOUR)
    assert interruption_times(0.0, 0, _HOUR) == []


def test_a_view_takes_the_same_time_however_many_rows_came() -> None:
    view = SimulatedFlow(_even(3600), BatchTime(7.0, 1.0), view=True)
    batches = simulate([view], _on(), 0, _HOUR, Surroundings()).batches[0]
    assert {round(batch.end - batch.start, 6) for batch in batches} == {7.0}
    assert {batch.start % 60 for batch in batches} == {0}, "once a minute at most"


def test_percentiles_are_of_the_weights() -> None:
    assert percentiles([], (0.5,)) == [None]
    assert percentiles([(3.0, 1.0)], (0.5, 0.95)) == [3.0, 3.0]
    [p50] = percentiles([(1.0, 99.0), (100.0, 1.0)], (0.5,))
    assert p50 is not None
    assert p50 < 3


@given(
    periods=st.lists(
        st.tuples(st.integers(0, 3000), st.integers(1, 600), st.integers(1, 50_000)), min_size=1, max_size=6
    ),
    fixed=st.floats(0.1, 20),
    per_row=st.floats(0, 0.001),
    schedule=st.sampled_from([_on(), _on(10), _on(60), _runs(300), _runs(900)]),
)
def test_each_row_is_processed_once_and_after_it_came(
    periods: list[tuple[int, int, int]], fixed: float, per_row: float, schedule: Schedule
) -> None:
    arrivals = Arrivals([Period(start, start + length, rows, 1) for start, length, rows in periods])
    flow = SimulatedFlow(arrivals, BatchTime(fixed, per_row))
    reader = SimulatedFlow(arrivals, BatchTime(fixed, per_row), inputs=(0,))
    simulation = simulate([flow, reader], schedule, 0, _HOUR, Surroundings(session_start=20))
    for batches in simulation.batches:
        assert all(batch.after > batch.before for batch in batches)
        assert all(one.after == two.before for one, two in pairwise(batches))
        assert all(one.end <= two.start + 1e-6 for one, two in pairwise(batches))
        assert all(age >= 0 for age, _ in freshness(arrivals, batches))
    read, reread = ((batches[-1].after if batches else 0) for batches in simulation.batches)
    assert reread <= read <= arrivals.total + 1
    assert schedule.always_on or all(stop > start for start, stop in simulation.runs)

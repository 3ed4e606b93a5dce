"""What schedules cost, on logs whose arrivals and batch times follow known formulas."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.recorded.days import FLOWS, QUERY_START, SESSION_START, STOP, DaysRecorder, rows_between
from tests.unit.observe.story import Story

from penstock.care.cost.arrivals import Arrivals
from penstock.care.cost.batch_time import BatchTime
from penstock.care.cost.estimate import Estimate, ScheduleCost, WhatIf, estimate
from penstock.care.cost.measures import (
    CostProjection,
    Measured,
    MeasuredFlow,
    assumed,
    measure,
    measured_of,
    with_stored_partitions,
)
from penstock.care.cost.prices import Cluster, Prices, Spot
from penstock.care.cost.report import confidence, markdown, marks, to_json
from penstock.care.cost.schedules import schedules
from penstock.care.cost.simulation import SimulatedFlow
from penstock.errors import ConfigError
from penstock.observe.flows.activity import FlowActivity, Period

_HOUR, _DAY = 3600.0, 86_400.0
_PRICES = Prices(cluster=Cluster(worker_hour=15.0, workers=1.0), currency="USD")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """A day of a run that is always on, with a trigger of two minutes; it was interrupted once."""
    storage = str(tmp_path_factory.mktemp("recorded"))
    recorder = DaysRecorder(storage)
    recorder.always_on(_DAY / 4, trigger=120)
    recorder.always_on(3 * _DAY / 4, trigger=120)
    return measure(storage, name="shop")


@pytest.fixture(scope="module")
def found(recorded: Measured) -> Estimate:
    """What all schedules cost for that day."""
    return estimate(recorded, _PRICES, schedules(), name="shop")


def _of(found: Estimate, name: str) -> ScheduleCost:
    return next(each for each in found.schedules if each.schedule.name == name)


def test_what_the_guide_calculates() -> None:
    found = estimate(assumed("iot"), _PRICES, schedules(every=[_HOUR]), name="iot", what_if=WhatIf(run_time=900))
    on, hourly = found.schedules
    assert on.cost == pytest.approx(360)
    assert hourly.cost == pytest.approx(90)
    assert hourly.saving == pytest.approx(0.75)
    assert hourly.p50 == pytest.approx(45 * 60, rel=0.01)


def test_the_fit_finds_the_formula_that_the_log_was_made_with(recorded: Measured) -> None:
    for flow, true in zip(recorded.flows, FLOWS, strict=True):
        time = flow.simulated.time
        assert flow.dataset == true.table
        for rows in (100, 5_000, 10_000):
            assert time.seconds(rows) == pytest.approx(true.seconds(rows), rel=0.03)
        assert time.warm_up == pytest.approx(true.warm_up, rel=0.05)


def test_another_schedule_costs_what_its_own_run_would_have_cost(recorded: Measured, tmp_path: Path) -> None:
    """The simulation of the day always on is compared with a log of the same day in hourly runs."""
    prices = Prices(cluster=Cluster(worker_hour=15.0, workers=1.0, start=0.0), currency="USD")
    simulated = _of(estimate(recorded, prices, schedules(every=[_HOUR]), name="shop"), "AvailableNow every 1 hour")
    real = DaysRecorder(str(tmp_path))
    real.available_now(24, every=_HOUR)
    hours = (24 * (SESSION_START + 2 * QUERY_START + STOP) + sum(real.busy.values())) / 3600
    # no end of an update that ends by itself was seen: STOP is not known
    assert simulated.hours_on == pytest.approx(hours - 24 * STOP / 3600, rel=0.05)
    busy = {table.dataset: table.busy for table in simulated.tables}
    for table, seconds in real.busy.items():
        assert busy[table] == pytest.approx(seconds, rel=0.05)


def test_rows_of_a_table_are_those_of_the_log(found: Estimate) -> None:
    [on, *_] = found.schedules
    rows = {table.dataset: table.rows for table in on.tables}
    assert rows["shop.bronze_orders"] == pytest.approx(rows_between(0, _DAY), rel=0.01)


def test_the_cost_is_split_by_busy_time_and_adds_up(recorded: Measured) -> None:
    prices = Prices(
        cluster=Cluster(worker_hour=15.0, workers=1.0), currency="USD", storage_gb_month=0.03, write_per_1000=0.005
    )
    sizes = {"shop.bronze_orders": 50_000_000_000}
    for each in estimate(recorded, prices, schedules(), name="shop", table_bytes=sizes).schedules:
        assert sum(table.cost for table in each.tables) == pytest.approx(each.cost)
        assert each.cost == pytest.approx(each.compute + each.requests + each.storage)
        assert each.storage == pytest.approx(0.05)
        assert each.requests == pytest.approx(each.batches * 4 * 0.005 / 1000)
        bronze = next(table for table in each.tables if table.dataset == "shop.bronze_orders")
        assert bronze.per_million == pytest.approx(bronze.cost / bronze.rows * 1e6)


def test_the_files_of_state_are_as_many_as_the_state_has_partitions(recorded: Measured, tmp_path: Path) -> None:
    prices = Prices(cluster=Cluster(worker_hour=15.0, workers=1.0), currency="USD", write_per_1000=0.005)
    first, *others = recorded.flows
    activity = replace(first.activity, state_operators=2)
    stateful = replace(recorded, flows=(replace(first, activity=activity), *others))
    assert stateful.flows[0].requests == 4 + 2 * 200
    guessed = estimate(stateful, prices, schedules(), name="shop")
    assert any("partitions" in line and first.flow in line for line in confidence(guessed))

    described = tmp_path / f"checkpoints/{first.dataset.replace('.', '/')}/{first.flow}/3/state/0/_metadata/v2/0"
    described.parent.mkdir(parents=True)
    document = {
        "operatorInfo": {"operatorId": 0, "operatorName": "dedupe"},
        "stateStoreInfo": [{"storeName": "default", "numPartitions": 8}],
    }
    described.write_text(f"v2\n{json.dumps(document)}")
    known = with_stored_partitions(stateful, str(tmp_path))
    assert known.flows[0].requests == 4 + 2 * 8
    assert [flow.requests for flow in known.flows[1:]] == [4, 4]
    assert not any("partitions" in line for line in confidence(estimate(known, prices, schedules(), name="shop")))


def test_a_flow_is_busy_for_a_day_a_day_at_most_and_flows_into_one_table_add_up() -> None:
    rows = [Period(0.0, 60.0, 6000, 4)]
    activity = FlowActivity("s.t", "a", batches=4, rows=6000, busy_ms=100_000, periods=rows, first=0.0, last=120.0)
    flow = MeasuredFlow("s.t", "a", activity, SimulatedFlow(Arrivals(rows), BatchTime(25.0, 0.0)))
    one = estimate(Measured((flow,), (), 0.0, 60.0), Prices(), schedules(every=[30.0]), name="shop")
    assert [each.tables[0].busy for each in one.schedules] == [_DAY, pytest.approx(_DAY * 50 / 60)]
    two = estimate(Measured((flow, replace(flow, flow="b")), (), 0.0, 60.0), Prices(), schedules(), name="shop")
    assert two.schedules[0].tables[0].busy == 2 * _DAY
    assert any("alongside each other: s.t" in line for line in confidence(two))
    assert not any("alongside each other: s.t" in line for line in confidence(one))
    assert to_json(one)["flows"][0]["busy_seconds_per_day"] == pytest.approx(_DAY * 100 / 120)


def test_runs_that_are_longer_than_their_interval_are_on_for_the_share_of_it_that_they_take(recorded: Measured) -> None:
    [_, half] = estimate(recorded, _PRICES, schedules(every=[600]), name="shop", what_if=WhatIf(run_time=900)).schedules
    assert half.hours_on == pytest.approx(18, rel=0.02)
    assert half.runs == pytest.approx(72, rel=0.02)


def test_the_cheapest_schedule_that_is_fresh_enough_is_recommended(recorded: Measured) -> None:
    found = estimate(recorded, _PRICES, schedules(), name="shop", what_if=WhatIf(goal=_HOUR))
    best = found.chosen
    assert best.recommended
    assert best.p95 is not None
    assert best.p95 <= _HOUR
    assert not [each for each in found.schedules if each.cost < best.cost and (each.p95 or 1e9) <= _HOUR]
    impossible = estimate(recorded, _PRICES, schedules(), name="shop", what_if=WhatIf(goal=1))
    assert not any(each.recommended for each in impossible.schedules)


def test_on_the_frontier_no_schedule_is_both_cheaper_and_fresher(found: Estimate) -> None:
    frontier = sorted((each for each in found.schedules if each.on_frontier), key=lambda each: each.cost)
    assert len(frontier) > 3
    assert [each.p95 for each in frontier] == sorted((each.p95 or 0 for each in frontier), reverse=True)
    assert "always on, trigger 1 minute" not in {each.schedule.name for each in frontier}, "as dear, and less fresh"


def test_spot_machines_are_cheaper_and_interruptions_cost_freshness(recorded: Measured) -> None:
    prices = Prices(
        cluster=Cluster(1.0, 3.5, 4.0, 16),
        currency="USD",
        spot=Spot(discount=0.6, recovery=120, interruptions_per_hour=0),
    )
    every = schedules(every=[_HOUR])
    full, calm, rough = (
        estimate(recorded, prices, every, name="shop", what_if=what_if).schedules
        for what_if in (WhatIf(), WhatIf(spot=0.5), WhatIf(spot=0.5, interruptions_per_hour=20.0))
    )
    assert calm[0].cost == pytest.approx(full[0].cost - 24 * 4 * 3.5 * 0.5 * 0.6)
    assert rough[0].cost == calm[0].cost, "it is always on in any case"
    assert (rough[0].p95 or 0) > (calm[0].p95 or 0)
    assert rough[1].hours_on > calm[1].hours_on


def test_more_cores_are_dearer_and_shorten_what_grows_with_rows(recorded: Measured) -> None:
    prices = Prices(cluster=Cluster(0.0, 1.0, 4.0, 16, whole_machines=True), currency="USD")
    every = schedules(every=[12 * _HOUR])
    now, more = (
        estimate(recorded, prices, every, name="shop", what_if=what_if) for what_if in (WhatIf(), WhatIf(cores=32))
    )
    assert (now.hour, more.hour, more.cores) == (4.0, 8.0, 32)
    assert more.schedules[1].hours_on < now.schedules[1].hours_on
    assert any("Amdahl" in line for line in confidence(more))


def test_other_cores_need_to_know_how_many_there_were(recorded: Measured) -> None:
    with pytest.raises(ConfigError) as raised:
        estimate(recorded, _PRICES, schedules(), name="shop", what_if=WhatIf(cores=8))
    assert raised.value.condition == "COST_CORES_UNKNOWN"
    assert raised.value.facts == {"cores": "8"}
    known = estimate(recorded, _PRICES, schedules(), name="shop", what_if=WhatIf(cores=8, measured_cores=4))
    assert known.hour == pytest.approx(30)


def test_a_schedule_longer_than_the_history_is_left_out_by_name(tmp_path: Path) -> None:
    DaysRecorder(str(tmp_path)).always_on(2 * _HOUR, trigger=60)
    found = estimate(measure(str(tmp_path), name="shop"), _PRICES, schedules(), name="shop")
    assert [each.interval for each in found.left_out] == [3 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY]
    assert any("every 1 day" in line for line in confidence(found))


def test_larger_batches_than_were_measured_are_said_to_be_extrapolated(found: Estimate) -> None:
    assert _of(found, "always on").extrapolated < 1
    assert _of(found, "AvailableNow every 1 hour").extrapolated > 10
    assert "extrapolated" in " ".join(marks(_of(found, "AvailableNow every 1 hour")))


@pytest.mark.parametrize(("factor", "said"), [(0.0, []), (1.0, []), (1.049, []), (1.05, ["extrapolated 1.1x"])])
def test_batches_about_as_large_as_the_measured_ones_are_not(found: Estimate, factor: float, said: list[str]) -> None:
    changed = replace(found.schedules[0], extrapolated=factor, on_frontier=False)
    assert marks(changed) == said
    assert any("Extrapolated" in line for line in confidence(replace(found, schedules=(changed,)))) == bool(said)
    assert (to_json(replace(found, schedules=(changed,)))["schedules"][0]["extrapolated"] is not None) == bool(said)
    assert any(line.startswith("Extrapolated") for line in confidence(found))


def test_an_end_of_an_update_that_was_never_seen_is_said_to_count_as_nothing(
    recorded: Measured, tmp_path: Path
) -> None:
    DaysRecorder(str(tmp_path)).available_now(3, every=_HOUR)
    ended = estimate(measure(str(tmp_path), name="shop"), _PRICES, schedules(every=[_HOUR]), name="shop")
    stopped = estimate(recorded, _PRICES, schedules(every=[_HOUR]), name="shop")
    assert not any("end by itself" in line for line in confidence(ended))
    assert any("end by itself" in line for line in confidence(stopped))
    assert not any("How runs begin" in line for line in confidence(ended))
    assert any("How runs begin" in line for line in confidence(stopped))


def test_the_document_and_the_text_for_a_pull_request_have_every_schedule(recorded: Measured) -> None:
    found = estimate(recorded, _PRICES, schedules(), name="s|h*op", what_if=WhatIf(goal=_HOUR))
    document = to_json(found)
    assert [each["schedule"] for each in document["schedules"]] == [each.schedule.name for each in found.schedules]
    assert document["flows"][0]["dataset"] == "shop.bronze_orders"
    text = markdown(found)
    assert all(f"| {each.schedule.name} |" in text for each in found.schedules)
    assert "bronze\\_orders" in text


def test_a_pipeline_that_never_ran_is_not_estimated() -> None:
    with pytest.raises(ConfigError) as raised:
        measured_of(CostProjection(), name="shop")
    assert raised.value.condition == "COST_NOT_MEASURED"
    assert "no batch" in raised.value.facts["reason"]


def test_one_batch_is_not_enough_and_it_is_said_what_is_missing() -> None:
    story, projection = Story(), CostProjection()
    story.update("one")
    story.dataset("s.raw")
    story.flow("s.raw")
    story.batch("s.raw", 0, 10, batch_duration_ms=900)
    for event in story.events:
        projection.apply(event)
    with pytest.raises(ConfigError) as raised:
        measured_of(projection, name="shop")
    assert raised.value.condition == "COST_NOT_MEASURED"
    assert "one batch" in raised.value.facts["reason"]


def test_a_flow_without_a_second_batch_is_named() -> None:
    story, projection = Story(), CostProjection()
    for number, tables in enumerate((("s.raw", "s.other"), ("s.raw",))):
        story.update(f"update-{number}")
        for name in ("s.raw", "s.other"):
            story.dataset(name)
            story.flow(name)
        for name in tables:
            story.batch(name, number, 10, batch_duration_ms=900)
    for event in story.events:
        projection.apply(event)
    found = measured_of(projection, name="shop")
    assert [flow.dataset for flow in found.flows] == ["s.raw"]
    assert found.unknown == ("other",)

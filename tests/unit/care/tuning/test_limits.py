"""Advice on how much a batch may read."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.unit.care.doctor.pipelines import CONTINUOUS, SETTINGS
from tests.unit.care.tuning.loads import activity, advice, after_outage, load, of_size

from penstock.care.doctor.facts import StorageFacts
from penstock.care.tuning.advice import Advice, Verdict
from penstock.observe.flows.activity import FlowActivity

OFFSETS, FILES = "maxOffsetsPerTrigger", "maxFilesPerTrigger"
KAFKA = (("kafka", "orders"),)


def reading(
    known: FlowActivity | None, *, now: str | None = None, count: int = 25, settings: Any = CONTINUOUS, **more: Any
) -> StorageFacts:
    """A flow whose batches take about 2 s and 10 s for each million rows, so that about 800,000 rows fit into 10 s."""
    limits = {} if now is None else {"orders": {"maxOffsetsPerTrigger": now}}
    given = {"sources": KAFKA, "limits": limits, **more}
    made = load(*of_size(1_000, count=count), settings=settings, known=known, **given)
    return after_outage(made, timedelta(hours=24))


def offsets(given: StorageFacts) -> Advice:
    return advice(given, OFFSETS, flow="shop.orders")


def test_the_limit_is_what_fits_into_the_trigger_interval() -> None:
    found = offsets(reading(activity(360_000, 360_000)))
    assert (found.verdict, found.now, found.advised) == (Verdict.CHANGE, None, "800000")
    assert found.measured["fixed_seconds"] == pytest.approx(1.99)
    assert found.measured["seconds_per_million_rows"] == pytest.approx(10.0)
    assert "12 batches in 2.0 hours" in found.evidence
    assert "The largest batch had 101k: beyond it is extrapolated." in found.evidence


def test_a_run_that_stops_has_batches_of_a_minute() -> None:
    found = offsets(reading(activity(3_600_000), settings=SETTINGS))
    assert found.measured["fitting_rows"] == pytest.approx(5_800_000, rel=0.01)
    assert found.measured["target_seconds"] == 60.0


def test_no_more_is_advised_than_ten_times_the_largest_batch() -> None:
    found = offsets(reading(activity(3_600_000), settings=SETTINGS))
    assert found.advised == "1000000"
    assert found.evidence.endswith("The largest batch had 101k: 10 times as many at most.")


@pytest.mark.parametrize(
    ("now", "verdict"), [("400001", "keep"), ("1600000", "keep"), ("300000", "change"), ("1700000", "change")]
)
def test_a_limit_within_a_factor_of_two_is_right(now: str, verdict: str) -> None:
    assert offsets(reading(activity(360_000), now=now)).verdict.value == verdict


def test_a_limit_below_the_arrivals_is_too_small_whatever_the_factor() -> None:
    arriving = activity(50_000 * 3600)  # 500,000 rows in an interval of 10 seconds
    found = offsets(reading(arriving, now="450000"))
    assert (found.verdict, found.advised) == (Verdict.CHANGE, "800000")


def test_without_a_long_outage_no_limit_is_needed() -> None:
    given = reading(activity(360_000))
    found = offsets(replace(given, now=given.history.updates[0].last_event_at + timedelta(minutes=5)))
    assert (found.verdict, found.now) == (Verdict.KEEP, None)
    assert found.evidence.endswith("no limit is needed.")


def test_no_limit_helps_a_flow_that_cannot_keep_up() -> None:
    found = offsets(reading(activity(100_000 * 3600)))
    assert found.verdict is Verdict.NOT_APPLICABLE
    assert "no limit helps, see keeps-up" in found.evidence


def test_batches_that_take_no_longer_for_more_rows_are_too_small() -> None:
    found = offsets(reading(activity(360_000, samples=((1_000, 2.0), (10_000, 2.0)))))
    assert (found.verdict, found.advised) == (Verdict.TOO_LITTLE, None)
    assert found.evidence.endswith("larger batches are needed.")


def test_the_busiest_hour_decides_what_a_limit_must_allow() -> None:
    arriving = activity(3600, 70_000 * 3600, 3600)
    assert offsets(reading(arriving)).verdict is Verdict.NOT_APPLICABLE
    assert offsets(reading(activity(3600, 60_000 * 3600, 3600), now="700000")).verdict is Verdict.CHANGE


def test_batches_of_one_size_say_that_others_are_needed() -> None:
    found = offsets(reading(activity(360_000, samples=((1_000, 2.0),))))
    assert found.verdict is Verdict.TOO_LITTLE
    assert "batches of different sizes" in found.evidence


@pytest.mark.parametrize("setting", [OFFSETS, FILES])
def test_few_batches_say_how_many_are_needed(setting: str) -> None:
    kind = KAFKA if setting == OFFSETS else (("cloudFiles", "./data"),)
    found = advice(reading(activity(360_000), count=3, sources=kind), setting, flow="shop.orders")
    assert (found.verdict, found.evidence) == (Verdict.TOO_LITTLE, "3 batches with rows, 20 are needed.")


def test_rows_of_several_sources_are_not_told_apart() -> None:
    found = offsets(reading(activity(360_000), inputs=("shop.customers",)))
    assert found.evidence == "It reads 2 sources, and rows are not recorded by source."


@pytest.mark.parametrize("setting", [OFFSETS, FILES])
def test_a_pipeline_without_such_a_source_has_no_limit(setting: str) -> None:
    assert advice(load(*of_size(100)), setting).verdict is Verdict.NOT_APPLICABLE


def files(kind: str, counts: tuple[int, ...], **limits: str) -> Advice:
    given = reading(activity(360_000), sources=((kind, "./data"),), limits={"data": limits} if limits else {})
    return advice(given, FILES, flow="shop.orders", shop__orders=counts)


def test_files_are_counted_by_their_rows() -> None:
    found = files("json", (2,) * 30)  # 500 rows a file
    assert (found.verdict, found.now, found.advised) == (Verdict.CHANGE, None, "1600")
    assert found.measured["rows_each"] == 500.0
    assert "A file has 500 rows." in found.evidence


def test_auto_loader_has_a_limit_of_its_own() -> None:
    assert (files("cloudFiles", (2,) * 30).verdict, files("cloudFiles", (2,) * 30).now) == (Verdict.KEEP, "1000")
    chosen = files("cloudFiles", (2,) * 30, **{"cloudFiles.maxFilesPerTrigger": "10"})
    assert (chosen.verdict, chosen.now, chosen.advised) == (Verdict.CHANGE, "10", "1600")


def test_unknown_files_are_no_guess() -> None:
    found = files("json", ())
    assert (found.verdict, found.evidence) == (
        Verdict.TOO_LITTLE,
        "How many files its newest batches read is not in its checkpoint.",
    )

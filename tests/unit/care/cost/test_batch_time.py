"""The time of a batch as a function of its rows."""

from __future__ import annotations

import pytest

from penstock.care.cost.batch_time import fit
from penstock.observe.flows.activity import BatchSample


def _samples(sizes: list[int], *, fixed: float = 1.0, per_row: float = 0.001, first: bool = False) -> list[BatchSample]:
    return [BatchSample(rows, round(1000 * (fixed + per_row * rows)), first) for rows in sizes]


def test_a_fixed_part_and_a_part_by_row_are_found() -> None:
    time = fit(_samples([10, 100, 1000, 10_000]))
    assert time.fixed == pytest.approx(1.0, rel=0.02)
    assert time.per_row == pytest.approx(0.001, rel=0.02)
    assert time.error < 0.01
    assert time.most_rows == 10_000


def test_a_batch_that_stood_still_does_not_count() -> None:
    time = fit([*_samples([100] * 9 + [1000] * 9), BatchSample(100, 90_000, False), BatchSample(1000, 90_000, False)])
    assert time.seconds(500) == pytest.approx(1.5, rel=0.02)


def test_batches_of_one_size_say_nothing_about_smaller_ones() -> None:
    time = fit(_samples([1000, 1100, 1200]))
    assert time.one_size
    assert time.seconds(1) == pytest.approx(2.1, rel=0.1)
    assert time.seconds(10_000) == pytest.approx(21, rel=0.15)


def test_the_first_batch_of_an_update_is_slower() -> None:
    time = fit([*_samples([10, 100, 1000]), *_samples([100, 200], fixed=6.0, first=True)])
    assert time.fixed == pytest.approx(1.0, rel=0.02)
    assert time.warm_up == pytest.approx(5.0, rel=0.02)


def test_a_first_batch_shows_its_warm_up_where_all_are_of_about_one_size() -> None:
    time = fit([*_samples([230, 250, 300] * 5), *_samples([460], fixed=4.0, first=True)])
    assert time.one_size
    assert time.seconds(230) == pytest.approx(1.25, rel=0.05)
    assert time.warm_up > 1.0


def test_a_much_larger_first_batch_shows_the_part_by_row() -> None:
    time = fit([*_samples([230, 250, 300] * 5), *_samples([100_000], fixed=4.0, first=True)])
    assert time.seconds(230) == pytest.approx(1.25, rel=0.05)
    assert time.per_row == pytest.approx(0.001, rel=0.05)


def test_with_first_batches_only_they_are_the_measure() -> None:
    time = fit(_samples([10, 100, 1000], first=True))
    assert time.only_first
    assert time.warm_up == 0
    assert time.seconds(1000) == pytest.approx(2.0, rel=0.02)


def test_no_part_is_negative() -> None:
    faster = fit([BatchSample(10, 3000, False), BatchSample(1000, 2000, False)])
    assert faster.per_row == 0
    proportional = fit([BatchSample(10, 1, False), BatchSample(1000, 1000, False)])
    assert proportional.fixed == 0
    assert proportional.per_row > 0


def test_more_cores_shorten_the_part_by_row_only() -> None:
    time = fit(_samples([10, 100, 1000])).with_cores(2)
    assert time.seconds(1000) == pytest.approx(1.5, rel=0.02)
    assert time.seconds(0) == pytest.approx(1.0, rel=0.02)

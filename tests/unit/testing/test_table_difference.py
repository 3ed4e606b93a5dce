from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from penstock.testing import batch_splits
from penstock.testing.table_difference import Comparison

_ROWS = [{"id": 1, "name": "lamp"}, {"id": 2, "name": "bed"}, {"id": 3, "name": "bed"}]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Decimal("9.50"), Decimal("9.5")),
        (Decimal("9.50"), 9.5),
        (7, Decimal("7.00")),
        (datetime(2026, 1, 1, 10, tzinfo=UTC), datetime(2026, 1, 1, 11, tzinfo=timezone(timedelta(hours=1)))),
        (datetime(2026, 1, 1, 10, tzinfo=UTC), datetime(2026, 1, 1, 10)),  # noqa: DTZ001 - UTC then
        (datetime(2026, 1, 1, 10, tzinfo=UTC), "2026-01-01T10:00:00Z"),
        (float("nan"), float("nan")),
        ({"a": [1, 2.0]}, {"a": (1, 2)}),
        (None, None),
    ],
)
def test_equal_values(one: Any, other: Any) -> None:
    assert Comparison().equal(one, other)
    assert Comparison().differences([{"x": one}], [{"x": other}]) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, True), (0, None), ("1", 1), (0.1, 0.2), ([1], [1, 2]), (datetime(2026, 1, 1, tzinfo=UTC), "2026-01-02")],
)
def test_values_that_differ(one: Any, other: Any) -> None:
    assert not Comparison().equal(one, other)
    assert Comparison().differences([{"x": one}], [{"x": other}])


def test_floats_differ_unless_a_tolerance_is_given() -> None:
    assert Comparison().differences([{"x": 0.1 + 0.2}], [{"x": 0.3}])
    assert not Comparison(tolerance=1e-9).differences([{"x": 0.1 + 0.2}], [{"x": 0.3}])


def test_rows_count_as_often_as_they_are_there() -> None:
    lines = Comparison().differences([_ROWS[0]], [_ROWS[0], _ROWS[0]])
    assert lines == ["1 rows, 2 expected", "  missing: id=1, name='lamp'"]
    assert Comparison().differences([_ROWS[0]], []) == ["1 rows, 0 expected", "  unexpected: id=1, name='lamp'"]


def test_only_the_columns_that_are_named() -> None:
    assert not Comparison().differences(_ROWS, [{"id": 3}, {"id": 2}, {"id": 1}])
    assert "no column" in Comparison().differences(_ROWS, [{"idd": 3}])[0]


def test_a_changed_row_shows_the_columns_that_differ() -> None:
    found = [*_ROWS[:2], {"id": 3, "name": "chair"}]
    lines = Comparison(key=("id",)).differences(found, _ROWS)
    assert lines[1].splitlines() == ["  changed: id=3", "      name: expected 'bed', found 'chair'"]
    assert Comparison().differences(found, _ROWS)[1:] == lines[1:], "rows that agree in half of the columns"


def test_order_matters_when_it_shall() -> None:
    assert not Comparison().differences(_ROWS, _ROWS[::-1])
    assert "another order" in Comparison(ignore_order=False).differences(_ROWS, _ROWS[::-1])[0]


def test_splits_hold_all_rows_in_order_and_repeat_with_their_seed() -> None:
    ways = batch_splits(range(10), 6, seed=3)
    assert [len(way) for way in ways[:2]] == [1, 10]
    assert all([item for batch in way for item in batch] == list(range(10)) for way in ways)
    assert all(batch for way in ways for batch in way)
    assert ways == batch_splits(range(10), 6, seed=3) != batch_splits(range(10), 6, seed=4)
    assert batch_splits([], 2) == [[[]], [[]]]

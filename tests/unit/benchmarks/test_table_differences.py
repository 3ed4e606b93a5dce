"""A benchmark ends without a number when a table has other rows than it should have."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from benchmarks.cdc.check import _truth
from benchmarks.differences import differences, require_none
from pyarrow import parquet


def test_missing_and_additional_rows_are_named_with_their_number() -> None:
    expected = Counter({("a", 1): 1, ("b", None): 2})
    assert differences("orders", expected, expected) == []
    assert differences("orders", Counter({("a", 1): 2, ("b", None): 1}), expected) == [
        "orders: 1 rows missing, the first: ('b', None)",
        "orders: 1 rows not expected, the first: ('a', 1)",
    ]


def test_benchmark_ends_with_the_differences() -> None:
    require_none([])
    with pytest.raises(SystemExit, match="orders: 1 rows missing"):
        require_none(["orders: 1 rows missing"])


def test_truth_of_changes_is_that_of_the_sequence(tmp_path: Path) -> None:
    batches = [
        [{"id": 1, "at": 1, "op": "U"}, {"id": 2, "at": 2, "op": "U"}],
        [{"id": 1, "at": 12, "op": "D"}, {"id": 1, "at": 11, "op": "U"}, {"id": 3, "at": 10, "op": "U"}],
    ]
    for number, events in enumerate(batches):
        rows = [{**event, "name": f"name {event['at']}", "city": "", "amount": 0.5} for event in events]
        parquet.write_table(pa.Table.from_pylist(rows), tmp_path / str(number))
    truth = _truth([str(tmp_path / "0"), str(tmp_path / "1")])
    assert truth.current == Counter([(2, "name 2", "", 0.5), (3, "name 10", "", 0.5)])
    assert truth.versions == Counter(
        [
            (1, "name 1", "", 0.5, 1, 11),
            (1, "name 11", "", 0.5, 11, 12),
            (2, "name 2", "", 0.5, 2, None),
            (3, "name 10", "", 0.5, 10, None),
        ]
    )

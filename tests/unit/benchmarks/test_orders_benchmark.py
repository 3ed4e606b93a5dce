"""The benchmark's judge: right tables pass, and each kind of wrong one is named."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from benchmarks.compare import render
from benchmarks.orders.check import Tables, problems
from benchmarks.orders.generator import GoldRow, Truth, generate
from benchmarks.results import write_result
from deltalake import write_deltalake

_ROWS = 900


@pytest.fixture
def truth(tmp_path: Path) -> Truth:
    return generate(tmp_path / "data", _ROWS, files=3)


def _write_tables(folder: Path, truth: Truth, *, bronze: list[int], gold: list[GoldRow]) -> Tables:
    write_deltalake(folder / "bronze", pa.table({"order_id": bronze}))
    write_deltalake(folder / "silver", pa.table({"order_id": list(range(truth.silver_rows))}))
    rows = [
        {
            "window_start": datetime.fromtimestamp(row.start, UTC),
            "product": row.product,
            "orders": row.orders,
            "revenue": row.revenue / 100,
        }
        for row in gold
    ]
    write_deltalake(folder / "gold", pa.Table.from_pylist(rows))
    return Tables(folder / "bronze", folder / "silver", folder / "gold", all_windows=False)


def test_the_input_is_the_same_each_time_and_in_order(tmp_path: Path, truth: Truth) -> None:
    again = generate(tmp_path / "again", _ROWS, files=3)
    assert again == truth
    assert generate(tmp_path / "again", _ROWS, files=3) == truth  # read back, not written anew
    files = sorted((tmp_path / "data" / "orders").iterdir())
    assert [path.stat().st_mtime for path in files] == sorted({path.stat().st_mtime for path in files})
    lines = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    assert [line["order_id"] for line in lines] == list(range(_ROWS))
    assert [line["order_time"] for line in lines] == sorted(line["order_time"] for line in lines)
    good = [line for line in lines if line["amount"] > 0 and line["customer_id"] is not None]
    assert truth.silver_rows == len(good) < _ROWS
    assert sum(row.orders for row in truth.gold) == len(good)
    assert sum(row.revenue for row in truth.gold) == round(sum(line["amount"] for line in good) * 100)
    open_hours = {row.start for row in truth.gold - truth.closed}
    assert len(open_hours) == 2  # of nine hours, the last and the one within the watermark


def test_right_tables_pass(tmp_path: Path, truth: Truth) -> None:
    tables = _write_tables(tmp_path, truth, bronze=list(range(_ROWS)), gold=list(truth.closed))
    assert problems(tables, truth) == []


def test_wrong_tables_are_named(tmp_path: Path, truth: Truth) -> None:
    gold = sorted(truth.closed, key=lambda row: (row.start, row.product))
    spoilt = [GoldRow(gold[0].start, gold[0].product, gold[0].orders, gold[0].revenue + 1), *gold[1:], gold[1]]
    tables = _write_tables(tmp_path, truth, bronze=[*range(_ROWS - 1), 0], gold=spoilt)
    found = problems(tables, truth)
    assert [line.partition(":")[0] for line in found] == ["bronze", "gold", "gold", "gold"]
    assert f"{_ROWS} rows with {_ROWS - 1} ids" in found[0]


def test_a_result_file_becomes_a_table(tmp_path: Path) -> None:
    run = {"system": "penstock", "correct": True, "seconds": 30.0, "rows_per_second": 10, "peak_memory_mb": 900.0}
    base = {**run, "system": "hand-written-tuned", "seconds": 40.0, "cpu_seconds": 50.0}
    runs = [{**run, "cpu_seconds": 41.0}, base, {"system": "spark-pipelines", "correct": False, "problems": ["exit"]}]
    path = write_result("orders", {}, runs, tmp_path)
    table = render([path])
    assert "| penstock           | 30.0    | 0.75" in table
    assert "spark-pipelines    | failed" in table

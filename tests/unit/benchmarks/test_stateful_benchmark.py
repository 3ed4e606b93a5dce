"""The input and the judge of the benchmark of queries with state."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest
from benchmarks.compare import render
from benchmarks.results import write_result
from benchmarks.stateful.__main__ import _check
from benchmarks.stateful.input import Order, Result, Truth, write_input
from benchmarks.stateful.ways import Ran
from deltalake import write_deltalake

_MINUTE = 60_000


def _orders(folder: Path, name: str) -> list[list[dict[str, object]]]:
    return [list(map(json.loads, path.read_text().splitlines())) for path in sorted((folder / name).iterdir())]


def test_the_queries_results_are_counted_while_the_input_is_written() -> None:
    truth = Truth()
    for number, customer, at in ((1, 7, 0), (2, 7, 4), (2, 7, 4), (501, 8, 0), (4, 7, 9.5), (5, 9, 30)):
        truth.add_order(Order(number, customer, int(at * _MINUTE)))
    for number in (2, 5):
        truth.add_payment(Order(number, 0, 0))
    assert truth.results() == {
        "windows": Result(3, 1 + 501 + 2 + 2 + 4),  # orders 1 and 501 are of one shop; the last minute is open
        "sessions": Result(3, 1 + 2 + 2 + 501 + 4),  # 7's order after more than a gap is a session of its own
        "dedup": Result(5, 1 + 2 + 501 + 4 + 5),
        "join": Result(3, 2 + 2 + 5),  # a repeated order is joined twice
    }


def test_no_row_is_late_and_files_are_as_many_as_they_are_said_to_be(tmp_path: Path) -> None:
    truth = write_input(tmp_path, 1600, 4)
    orders, payments = _orders(tmp_path, "orders"), _orders(tmp_path, "payments")
    assert truth.read == {"orders": sum(map(len, orders)), "payments": sum(map(len, payments))}
    assert sum(map(len, orders)) == 1600
    newest = [max(datetime.fromisoformat(str(row["at"])) for row in rows) for rows in orders]
    oldest = [min(datetime.fromisoformat(str(row["at"])) for row in rows) for rows in orders]
    assert all(first < second for first, second in zip(newest, oldest[1:], strict=False))
    at_of = {row["id"]: datetime.fromisoformat(str(row["at"])) for rows in orders for row in rows}
    waits = [datetime.fromisoformat(str(row["paid_at"])) - at_of[row["order_id"]] for rows in payments for row in rows]
    assert all(0 <= wait.total_seconds() < 300 for wait in waits)


def test_a_run_that_loses_rows_is_no_result(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "result", pa.table({"id": [1, 2]}))
    _check("dedup", "by hand", tmp_path / "result", Result(2, 3))
    with pytest.raises(SystemExit, match="dedup, by hand"):
        _check("dedup", "by hand", tmp_path / "result", Result(2, 4))


def test_the_time_is_that_after_the_first_batch(tmp_path: Path) -> None:
    commits = tmp_path / "commits"
    commits.mkdir()
    for batch, moment in ((0, 100.0), (2, 103.0), (10, 107.5)):
        (commits / str(batch)).touch()
        os.utime(commits / str(batch), (moment, moment))
    (commits / ".0.crc").touch()
    ran = Ran(tmp_path / "result", tmp_path)
    assert (ran.seconds, ran.batches) == (7.5, 3)


def test_a_result_file_becomes_a_table(tmp_path: Path) -> None:
    base = {"what": "windows, by hand", "seconds": [10.0], "rows_per_second": 55_000, "goal_rows_per_second": None}
    base |= {"base": None, "ratio": None, "goal": None}
    run = base | {"what": "windows, Penstock", "base": "by hand", "ratio": 1.02, "goal": 1.1}
    right, slow = run | {"goal_rows_per_second": 50_000}, run | {"goal_rows_per_second": 60_000}
    table = render([write_result("stateful", {}, [base, right, slow], tmp_path)]).splitlines()[-3:]
    assert ["1.02 of by hand" in line for line in table] == [False, True, True]
    assert [line.split("|")[-2].strip() for line in table] == ["", "yes", "no"]

"""The oracle, against the generator's own account of the truth and against tables with planted errors."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.oracle import orders
from tests.oracle.tables import assert_table, differences, read_table


def _generate(folder: Path, *flags: str) -> dict[str, Any]:
    script = resources.files("penstock.cli") / "templates" / "orders" / "generate_orders.py"
    command = [sys.executable, str(script), "--into", str(folder), *flags]
    subprocess.run([*command, "--files", "12", "--rate", "0"], check=True, capture_output=True)
    told = subprocess.run([*command, "--oracle"], check=True, capture_output=True, text=True)
    return dict(json.loads(told.stdout))


def test_the_oracle_and_the_generator_agree(tmp_path: Path) -> None:
    told = _generate(tmp_path, "--late", "0")
    expected = orders.quickstart(orders.lines_of(tmp_path))
    assert len(expected.bronze_orders) == told["bronze_orders"]["rows"] == 600
    assert len(expected.silver_orders) == told["silver_orders"]["rows"]
    assert expected.dropped == told["silver_orders"]["dropped"] > 0
    assert expected.broken_lines == told["faults"]["broken"] > 0
    told_failed = {name: counts["failed"] for name, counts in told["silver_orders"]["expectations"].items()}
    assert expected.failed == told_failed
    assert differences(expected.top_products, told["top_products"]) == []
    told_hours = {hour: (numbers["orders"], numbers["revenue"]) for hour, numbers in told["hourly_revenue"].items()}
    for row in expected.hourly_revenue:
        hour = row["hour"].isoformat().replace("+00:00", "Z")
        assert told_hours[hour] == (row["orders"], row["revenue"])
    assert [row["hour"].hour for row in expected.hourly_revenue] == [6, 7]  # 8 to 9 is open until 9:10


def test_input_with_late_rows_is_refused(tmp_path: Path) -> None:
    _generate(tmp_path, "--late", "0.2")
    with pytest.raises(ValueError, match="is late"):
        orders.quickstart(orders.lines_of(tmp_path))


def test_the_seed_pipeline_drops_what_it_cannot_read_and_closes_hours_after_the_watermark() -> None:
    def message(number: int, time: str, amount: float | None = 10.0, customer: str | None = "c1") -> dict[str, Any]:
        return {
            "order_id": str(number),
            "customer_id": customer,
            "product": "cup",
            "amount": amount,
            "order_time": f"2026-01-01T{time}:00Z",
        }

    silver, gold = orders.seed_pipeline(
        [
            message(1, "06:10"),
            message(2, "06:50"),
            None,
            message(3, "07:10", amount=-1.0),
            message(4, "07:20", customer=None),
            message(5, "07:30"),
            message(6, "08:00"),
        ]
    )
    assert [row["order_id"] for row in silver] == ["1", "2", "5", "6"]
    assert [(row["window"]["start"].hour, row["order_count"], row["total_revenue"]) for row in gold] == [(6, 2, 20.0)]


def test_a_stored_table_is_compared_row_by_row(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "t", pa.table({"id": [1, 2, 2], "amount": [0.5, 1.0, 1.0]}))
    good = [{"id": 1, "amount": 0.1 + 0.4}, {"id": 2, "amount": 1.0}, {"id": 2, "amount": 1.0}]
    assert_table(tmp_path / "t", good)
    assert differences(read_table(tmp_path / "t"), [{"id": 1}, {"id": 2}, {"id": 2}], ["id"]) == []
    with pytest.raises(AssertionError) as caught:
        assert_table(tmp_path / "t", [*good[:2], {"id": 3, "amount": 1.0}])
    told = str(caught.value)
    assert "missing, 1 x: {'amount': 1.0, 'id': 3}" in told
    assert "not expected, 1 x: {'amount': 1.0, 'id': 2}" in told

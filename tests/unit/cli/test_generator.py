"""The quickstart's generator: what it writes is what its oracle says, and nobody reads half a file."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TEMPLATE = Path(__file__).parents[3] / "src/penstock/cli/templates/orders/generate_orders.py"
SHARES = {"negative": 0.05, "no_customer": 0.04, "broken": 0.03, "late": 0.02}


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_orders", TEMPLATE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["generate_orders"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def rows_in(folder: Path) -> tuple[list[dict[str, Any]], int]:
    """Reads the files as an independent reader would: the rows, and how many lines are no JSON."""
    rows, broken = [], 0
    for file in sorted(folder.glob("*.json")):
        for line in file.read_text().splitlines():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                broken += 1
    return rows, broken


def oracle(*options: str) -> Any:
    done = subprocess.run(
        [sys.executable, str(TEMPLATE), "--oracle", *options], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


def test_oracle_agrees_with_an_independent_reading_of_the_files(generator: ModuleType, tmp_path: Path) -> None:
    generator.main(["--into", str(tmp_path), "--files", "12", "--rate", "0", "--seed", "3"])
    truth = oracle("--into", str(tmp_path), "--seed", "3")
    rows, broken = rows_in(tmp_path)
    good = [row for row in rows if row["amount"] > 0 and row["customer_id"] is not None]

    assert truth["files"] == 12
    assert truth["lines"] == truth["bronze_orders"]["rows"] == len(rows) + broken
    assert truth["faults"]["broken"] == broken > 0
    assert truth["silver_orders"]["rows"] == len(good)
    assert truth["silver_orders"]["dropped"] == truth["lines"] - len(good)
    failed = {name: counts["failed"] for name, counts in truth["silver_orders"]["expectations"].items()}
    assert failed["readable"] == broken
    assert failed["positive_amount"] == broken + sum(row["amount"] <= 0 for row in rows)
    assert failed["known_customer"] == broken + sum(row["customer_id"] is None for row in rows)
    by_product = {entry["product"]: entry for entry in truth["top_products"]}
    for product in {row["product"] for row in good}:
        sold = [row["amount"] for row in good if row["product"] == product]
        assert by_product[product]["orders"] == len(sold)
        assert by_product[product]["revenue"] == pytest.approx(sum(sold))
    hours = truth["hourly_revenue"]
    assert sum(hour["orders"] + hour["late_orders"] for hour in hours.values()) == len(good)


def test_every_kind_of_bad_row_occurs_in_the_first_files() -> None:
    assert all(count > 0 for count in oracle("--files", "20")["faults"].values())


def test_same_seed_same_files_and_another_seed_others(generator: ModuleType, tmp_path: Path) -> None:
    for folder, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        generator.main(["--into", str(tmp_path / folder), "--files", "3", "--rate", "0", "--seed", seed])
    assert rows_in(tmp_path / "a") == rows_in(tmp_path / "b") != rows_in(tmp_path / "c")


def test_a_second_call_adds_files_and_changes_none(generator: ModuleType, tmp_path: Path) -> None:
    generator.main(["--into", str(tmp_path), "--files", "2", "--rate", "0"])
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    generator.main(["--into", str(tmp_path), "--files", "2", "--rate", "0"])
    after = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert len(after) == 4
    assert before.items() <= after.items()
    assert oracle("--into", str(tmp_path))["files"] == 4


def test_a_file_appears_whole(generator: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    renamed: list[tuple[str, str]] = []
    replace = generator.os.replace

    def watched(source: Path, target: Path) -> None:
        assert not target.exists()
        renamed.append((Path(source).name, Path(target).name))
        replace(source, target)

    monkeypatch.setattr(generator.os, "replace", watched)
    generator.main(["--into", str(tmp_path), "--files", "1", "--rate", "0"])
    assert renamed == [(".orders-00000.json.writing", "orders-00000.json")]
    assert [file.name for file in tmp_path.iterdir()] == ["orders-00000.json"]


def test_late_orders_lie_before_the_watermark_and_the_others_do_not(generator: ModuleType) -> None:
    orders = list(generator.orders_of(1, 40, 400, SHARES))
    for order in orders:
        lateness = order.sent_at - order.order_time
        assert lateness == (generator.LATENESS if order.fault == "late" else type(lateness)(0))


@pytest.mark.parametrize("amount", [1, 50, 333])
def test_shop_time_never_runs_backwards_between_files(generator: ModuleType, amount: int) -> None:
    times = [order.sent_at for number in range(3) for order in generator.orders_of(1, number, amount, SHARES)]
    assert times == sorted(times)


def test_without_faults_nothing_is_dropped() -> None:
    none = [word for fault in ("--negative", "--no-customer", "--broken", "--late") for word in (fault, "0")]
    truth = oracle("--files", "5", *none)
    assert truth["silver_orders"]["dropped"] == 0
    assert all(counts["failed"] == 0 for counts in truth["silver_orders"]["expectations"].values())


def test_endless_without_a_pause_is_refused() -> None:
    done = subprocess.run([sys.executable, str(TEMPLATE), "--rate", "0"], check=False, capture_output=True)
    assert done.returncode == 2


def test_seconds_bound_the_time(generator: ModuleType, tmp_path: Path) -> None:
    generator.main(["--into", str(tmp_path), "--seconds", "0.3", "--rate", "500"])
    assert 1 <= len(list(tmp_path.iterdir())) <= 4

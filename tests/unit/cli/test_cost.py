"""`penstock cost`, on event logs written without Spark."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.recorded.days import DaysRecorder
from typer.testing import CliRunner

from penstock.cli.main import app

runner = CliRunner()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text("name: shop\n")
    return tmp_path


@pytest.fixture
def recorded(project: Path) -> Path:
    DaysRecorder(str(project / ".penstock")).always_on(4 * 3600, trigger=60)
    return project


def _cost(*words: str, code: int = 0) -> Any:
    result = runner.invoke(app, ["cost", *words], env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return result


def test_the_example_of_the_guide_needs_no_measurement(project: Path) -> None:
    words = ["--hourly-price", "15", "--run-time", "15 minutes", "--every", "1 hour"]
    lines = [line.split() for line in _cost(str(project), *words).stdout.splitlines()]
    assert ["always", "on", "360.00", "0", "%"] in [line[:5] for line in lines]
    assert ["AvailableNow", "every", "1", "hour", "90.00", "75", "%"] in [line[:7] for line in lines]


def test_people_see_schedules_tables_and_what_it_rests_on(recorded: Path) -> None:
    result = _cost(str(recorded), "--hourly-price", "15 USD", "--freshness", "30 minutes")
    assert "USD a day" in result.stdout
    assert "recommended" in result.stdout
    assert "shop.silver_orders" in result.stdout
    assert "per million rows" in result.stdout
    assert "days of history" in result.stderr
    assert "95 % of the rows can be read within 30 minutes" in result.stderr


def test_json_is_one_document(recorded: Path) -> None:
    document = json.loads(_cost(str(recorded), "--hourly-price", "15", "--every", "1 hour", "--json").stdout)
    assert [each["kind"] for each in document["schedules"]] == ["always_on", "available_now"]
    assert document["schedules"][0]["cost"] == pytest.approx(360)
    assert document["confidence"]


def test_markdown_is_the_whole_answer(recorded: Path) -> None:
    result = _cost(str(recorded), "--hourly-price", "15", "--trigger", "10 seconds", "--markdown")
    assert "| always on, trigger 10 seconds | 360.00 |" in result.stdout
    assert "days of history" in result.stdout
    assert not result.stderr


def test_without_prices_amounts_are_hours_of_the_cluster(recorded: Path) -> None:
    result = _cost(str(recorded))
    assert "cluster a day" in result.stdout
    assert "24.0 h" in result.stdout
    assert "--prices" in result.stderr


def test_a_price_file_beside_the_pipeline_file_is_found(recorded: Path) -> None:
    (recorded / "prices.yml").write_text("currency: EUR\nas_of: 2026-01-31\ncluster: {hour: 2.5}\n")
    result = _cost(str(recorded))
    assert "EUR a day" in result.stdout
    assert "60.00" in result.stdout
    assert "prices.yml, as of 2026-01-31" in result.stderr


def test_cores_of_a_local_master_are_known(recorded: Path) -> None:
    (recorded / "penstock.yml").write_text("name: shop\nmaster: local[4]\n")
    document = json.loads(_cost(str(recorded), "--hourly-price", "2", "--cores", "8", "--json").stdout)
    assert (document["price_per_hour"], document["cores"]) == (4, 8)


@pytest.mark.parametrize(
    ("words", "condition"),
    [
        ([], "COST_NOT_MEASURED"),
        (["--hourly-price", "cheap"], "CONFIG_INVALID_VALUE"),
        (["--every", "15m"], "INVALID_INTERVAL"),
        (["--every", "0 seconds"], "CONFIG_INVALID_VALUE"),
        (["--freshness", "soon"], "INVALID_INTERVAL"),
        (["--spot", "150 %"], "CONFIG_INVALID_VALUE"),
        (["--prices", "none.yml"], "CONFIG_UNREADABLE"),
    ],
)
def test_bad_input(project: Path, words: list[str], condition: str) -> None:
    result = _cost(str(project), *words, "--json", code=2)
    error = json.loads(result.stdout)["errors"][0]
    assert error["condition"] == condition
    assert error["fix"]


def test_a_wrong_key_of_the_price_file_has_its_line(recorded: Path) -> None:
    file = recorded / "prices.yml"
    file.write_text("currency: EUR\ncluster: {hour: 2.5}\nstorage: 0.02\n")
    error = json.loads(_cost(str(recorded), "--json", code=2).stdout)["errors"][0]
    assert (error["condition"], error["line"]) == ("CONFIG_UNKNOWN_KEY", 3)


def test_the_tables_are_priced_where_they_lie(recorded: Path) -> None:
    import pyarrow as pa
    from deltalake import write_deltalake

    table = recorded / ".penstock" / "tables" / "shop" / "bronze_orders"
    table.parent.mkdir(parents=True)
    write_deltalake(str(table), pa.table({"id": list(range(1000))}))
    (recorded / "prices.yml").write_text("currency: EUR\ncluster: {hour: 2.5}\nstorage_gb_month: 1000\n")
    document = json.loads(_cost(str(recorded), "--json").stdout)
    assert document["schedules"][0]["storage"] > 0


def _block(kind: str) -> str:
    page = Path(__file__).parents[3] / "docs" / "how-to" / "cost.md"
    return page.read_text().partition(f"```{kind}\n")[2].partition("```")[0]


def test_the_page_shows_what_the_command_prints(project: Path) -> None:
    command, *more = _block("sh").strip().splitlines()
    assert not more
    printed = [line.split() for line in _cost(*shlex.split(command)[2:], str(project)).stdout.splitlines()]
    for line in _block("text").splitlines():
        assert line.split() in printed


def test_the_price_file_of_the_page_can_be_read(recorded: Path) -> None:
    (recorded / "prices.yml").write_text(_block("yaml"))
    result = _cost(str(recorded), "--cores", "32", "--spot", "70 %")
    assert "USD a day" in result.stdout
    assert "32 cores" in result.stderr

"""The example of two catalogs: it runs, and two tables of the same schema and name stay two wherever they are shown."""

from __future__ import annotations

import json
import os
import runpy
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from openlineage.client.serde import Serde
from pyspark.sql import SparkSession
from tests.oracle.tables import read_table
from tests.repo.documents import ROOT
from typer.testing import CliRunner

import penstock.testing
from penstock.care.checkpoints.replaying import plan_replay
from penstock.cli.commands.checkpoints.checkpoint import open_inventory
from penstock.cli.commands.tables.maintenance import _chosen
from penstock.cli.main import app
from penstock.config import PipelineConfig, load_project
from penstock.errors import StateError
from penstock.events import read_events
from penstock.observe.drawing import to_mermaid, to_svg, to_terminal
from penstock.observe.lineage import lineage_of_graph
from penstock.openlineage.run_events import RunEvents
from penstock.plan.explain import render_plan
from penstock.plan.selection import RefreshSelection
from penstock.runtime import plan_update, run_update
from penstock.runtime.commands.batch_replay import replay_batch
from penstock.runtime.commands.manual_maintenance import optimize_tables, vacuum_tables
from penstock.runtime.commands.replay import replay_quarantine

EXAMPLE = ROOT / "examples/catalogs"
BRONZE, SILVER, REVENUE = "sales.orders", "silver.sales.orders", "silver.sales.revenue"
Row = dict[str, Any]


@dataclass(frozen=True)
class Example:
    """The example after two runs: of two files and of one more."""

    directory: Path
    config: PipelineConfig
    rows: list[Row]

    @property
    def arrived(self) -> list[Row]:
        return [row for row in self.rows if row["shop"] is not None]

    @property
    def good(self) -> list[Row]:
        return [row for row in self.arrived if row["amount"] > 0]

    def table(self, folder: str) -> list[Row]:
        return read_table(self.directory / ".penstock/tables" / folder)

    def say(self, *words: str) -> str:
        """What a command prints."""
        done = CliRunner().invoke(app, [*words, str(self.directory)], env={"COLUMNS": "200"})
        assert done.exit_code == 0, done.output
        return done.stdout

    def answer(self, *words: str) -> Any:
        return json.loads(self.say(*words, "--json"))


@pytest.fixture(scope="module")
def example(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Example:
    directory = tmp_path_factory.mktemp("catalogs") / "example"
    shutil.copytree(EXAMPLE, directory, ignore=shutil.ignore_patterns(".penstock", "data"))
    config = load_project(directory)
    generator = runpy.run_path(str(directory / "make_data.py"))
    for files in (range(2), range(2, 3)):
        generator["write"](files)
        outcome = run_update(config, RefreshSelection(), spark=spark)
        assert outcome.errors == ()
    return Example(directory, config, [row for number in range(3) for row in generator["rows"](number)])


def test_the_tables_are_what_plain_python_computes(example: Example) -> None:
    assert len(example.rows) > len(example.arrived) > len(example.good) > 0

    def ids(rows: list[Row]) -> list[int]:
        return sorted(row["id"] for row in rows)

    assert ids(example.table("sales/orders")) == ids(example.arrived)
    assert ids(example.table("silver.sales/orders")) == ids(example.good)
    found = {row["shop"]: (row["orders"], row["revenue"]) for row in example.table("silver.sales/revenue")}
    amounts = {shop: [row["amount"] for row in example.good if row["shop"] == shop] for shop in found}
    assert found == {shop: (len(each), sum(each)) for shop, each in amounts.items()}
    assert len(found) == 3


COMMANDS: dict[str, tuple[tuple[str, ...], Callable[[Any, Example], None]]] = {}


def command(*words: str) -> Callable[[Callable[[Any, Example], None]], Callable[[Any, Example], None]]:
    def add(check: Callable[[Any, Example], None]) -> Callable[[Any, Example], None]:
        COMMANDS[" ".join(words)] = words, check
        return check

    return add


@command("status")
def _status(told: Any, example: Example) -> None:
    datasets = {each["name"]: each for each in told["datasets"]}
    assert datasets.keys() == {BRONZE, SILVER, REVENUE}
    assert [datasets[name]["rows"] for name in (BRONZE, SILVER)] == [len(example.arrived), len(example.good)]
    checks = {name: datasets[name]["expectations"] for name in (BRONZE, SILVER)}
    assert {name: [each["name"] for each in found] for name, found in checks.items()} == {
        BRONZE: ["has_a_shop"],
        SILVER: ["is_an_order"],
    }
    assert [found["failed"] for [found] in checks.values()] == [
        len(example.rows) - len(example.arrived),
        len(example.arrived) - len(example.good),
    ]


@command("top")
def _top(told: Any, example: Example) -> None:
    assert {(each["dataset"], each["flow"]) for each in told["flows"]} == {
        (BRONZE, "orders"), (SILVER, "orders"), (REVENUE, "revenue")
    }  # fmt: skip


@command("graph")
def _graph(told: Any, example: Example) -> None:
    assert {each["name"] for each in told["nodes"]} > {BRONZE, SILVER, REVENUE}
    edges = {(each["from"], each["to"]) for each in told["edges"]}
    assert {(BRONZE, SILVER), (SILVER, REVENUE)} <= edges
    assert len(edges) == 3


@command("cost", "--hourly-price", "15")
def _cost(told: Any, example: Example) -> None:
    assert {BRONZE, SILVER} <= _texts(told)


@command("tune")
def _tune(told: Any, example: Example) -> None:
    assert {each["flow"] for each in told["settings"]} == {None, BRONZE}, "the other one reads no files"


@command("checkpoint", "ls")
def _checkpoints(told: Any, example: Example) -> None:
    assert {each["dataset"] for each in told} == {BRONZE, SILVER}


@command("checkpoint", "show", "orders")
def _checkpoint_of_a_bare_name(told: Any, example: Example) -> None:
    assert {each["dataset"] for each in told} == {BRONZE}


@command("checkpoint", "show", SILVER)
def _checkpoint(told: Any, example: Example) -> None:
    assert {each["dataset"] for each in told} == {SILVER}


def _quarantined(name: str, broken: Callable[[Example], list[Row]]) -> None:
    @command("quarantine", "show", name)
    def check(told: Any, example: Example) -> None:
        assert {each["id"] for each in told} == {each["id"] for each in broken(example)}
        assert told


_quarantined(f"bronze.{BRONZE}", lambda example: [row for row in example.rows if row not in example.arrived])
_quarantined(SILVER, lambda example: [row for row in example.arrived if row not in example.good])


def _texts(told: Any) -> set[str]:
    """All texts in a document."""
    if isinstance(told, dict):
        return set().union(*map(_texts, told.values()))
    if isinstance(told, list):
        return set().union(*map(_texts, told))
    return {told} if isinstance(told, str) else set()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_tells_the_two_apart(example: Example, name: str) -> None:
    words, check = COMMANDS[name]
    check(example.answer(*words), example)


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("top", "--once"),
        ("graph",),
        ("graph", "--mermaid"),
        ("cost", "--hourly-price", "15"),
        ("doctor",),
        ("checkpoint", "ls"),
        ("events",),
    ],
    ids=" ".join,
)
def test_what_people_read_names_both(example: Example, words: tuple[str, ...]) -> None:
    text = example.say(*words)
    assert SILVER in text
    assert BRONZE in text.replace(SILVER, "")


def test_alerts_are_of_the_table_that_the_file_names(example: Example) -> None:
    assert {each["condition"] for each in example.answer("alerts", "check")["wrong"]} == set()
    alerts = example.config.alerts
    assert (alerts.of(BRONZE).freshness, alerts.of(BRONZE).expectations) == (7200, None)
    assert (alerts.of(SILVER).freshness, alerts.of(SILVER).expectations) == (None, 0.9)


def test_reads_of_one_are_not_listed_for_the_other(example: Example) -> None:
    example.say("show", "bronze.sales.orders")
    example.say("show", SILVER)

    def read(table: str) -> list[list[str]]:
        return [
            each["arguments"]["tables"]
            for each in example.answer("audit", "--only", "reads", "--table", table)["reads"]
        ]

    shown = {name: [tables for tables in read(name) if tables in ([BRONZE], [SILVER])] for name in (BRONZE, SILVER)}
    assert shown == {BRONZE: [[BRONZE]], SILVER: [[SILVER]]}
    assert read("orders") == read("bronze.sales.orders") == read(BRONZE)


def test_open_lineage_has_a_job_and_a_dataset_for_each(example: Example) -> None:
    events = RunEvents("two_catalogs", "penstock", interval=0)
    told = [Serde.to_dict(built) for event in read_events(example.config.storage) for built in events.apply(event)]
    jobs = {each["job"]["name"] for each in told}
    assert {f"two_catalogs.{name}.orders" for name in (BRONZE, SILVER)} <= jobs
    last = next(each for each in reversed(told) if each["job"]["name"] == f"two_catalogs.{SILVER}.orders")
    [read], [written] = last["inputs"], last["outputs"]
    places = [example.directory / ".penstock/tables" / each for each in ("sales/orders", "silver.sales/orders")]
    assert [read["name"], written["name"]] == list(map(str, places))
    symlinks = [each["facets"]["symlinks"]["identifiers"][0]["name"] for each in (read, written)]
    assert symlinks == [BRONZE, SILVER]


def test_a_plan_refreshes_the_chosen_one(spark: SparkSession, example: Example) -> None:
    planned = plan_update(example.config, RefreshSelection(full_refresh=("Silver.Sales.orders",)), spark=spark)
    emptied = [str(each.dataset) for each in planned.plan.stages if each.kind == "reset_table"]
    assert sorted(emptied) == [SILVER, f"{SILVER}__quarantine"]
    lines = [line.split() for line in render_plan(planned.plan).splitlines()]
    assert [line[2] for line in lines if line[:2] == ["empty", "table"]] == emptied
    assert [line[1] for line in lines if line[:1] == ["stream"]] == [SILVER]
    for own in ("bronze.Sales.orders", "orders"):
        with pytest.raises(StateError, match=f"'{BRONZE}' cannot be refreshed alone: {SILVER} read it") as refused:
            plan_update(example.config, RefreshSelection(full_refresh=(own,)), spark=spark)
        assert refused.value.dataset == BRONZE
    lineage = lineage_of_graph(planned.graph)
    for drawing in (to_terminal(lineage), to_mermaid(lineage), to_svg(lineage)):
        assert SILVER in drawing
        assert BRONZE in drawing.replace(SILVER, "")


@pytest.mark.parametrize("name", ["bronze.sales.orders", SILVER])
def test_a_batch_is_replayed_into_nothing_of_the_other(spark: SparkSession, example: Example, name: str) -> None:
    recorded = plan_replay(open_inventory(example.config), name, 1, flow=None, default_schema=example.config.schema)
    assert str(recorded.dataset) == name.removeprefix("bronze.")
    done = replay_batch(example.config, recorded, progress=lambda _: None, spark=spark)
    rows = example.arrived if name != SILVER else example.good
    assert done.difference.same
    assert done.difference.equal == sum(row["id"] >= 100 for row in rows)


def test_maintenance_is_of_one_table(spark: SparkSession, example: Example) -> None:
    tables = _chosen(example.config, [SILVER])
    assert list(map(str, tables)) == [SILVER]
    done = optimize_tables(example.config, tables, progress=lambda _: None, spark=spark)
    assert list(map(str, done)) == [SILVER]
    everything = {str(name).removesuffix("__quarantine") for name in _chosen(example.config, None)}
    assert everything == {BRONZE, SILVER, REVENUE}


def test_vacuum_is_of_one_table(spark: SparkSession, example: Example) -> None:
    strays = [
        example.directory / f".penstock/tables/{table}/stray.parquet"
        for table in ("sales/orders", "silver.sales/orders")
    ]
    for stray in strays:
        stray.write_bytes(b"left over")
        os.utime(stray, (0, 0))  # beyond every retention
    done = vacuum_tables(example.config, _chosen(example.config, [SILVER]), progress=lambda _: None, spark=spark)
    assert [(str(name), each.files_deleted) for name, each in done.items()] == [(SILVER, 1)]
    assert [stray.exists() for stray in strays] == [True, False]


def test_a_shorter_event_log_still_knows_both(example: Example, tmp_path: Path) -> None:
    shutil.copytree(example.directory, tmp_path / "copy")
    copy = replace(example, directory=tmp_path / "copy")
    before = copy.answer("status")["datasets"]
    assert copy.answer("compact", "--older-than", "0 seconds")["dropped"] > 0
    told = copy.answer("status")
    _status(told, copy)
    assert [each["name"] for each in told["datasets"]] == [each["name"] for each in before]


def test_a_replay_of_the_quarantine_reaches_its_own_table(
    spark: SparkSession, example: Example, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(example.directory, copy)
    rules = copy / "transformations/orders.py"
    rules.write_text(rules.read_text().replace('"amount > 0"', '"amount > -10"'))
    outcome = replay_quarantine(load_project(copy), SILVER, progress=lambda _: None, spark=spark)
    assert outcome.replayed == len(example.arrived) - len(example.good)
    tables = copy / ".penstock/tables"
    assert len(read_table(tables / "silver.sales/orders")) == len(example.arrived)
    assert len(read_table(tables / "sales/orders")) == len(example.arrived)
    assert len(read_table(tables / "sales/orders__quarantine")) == len(example.rows) - len(example.arrived)


@pytest.fixture
def tested(example: Example) -> Iterator[penstock.testing.PipelineUnderTest]:
    with penstock.testing.pipeline(example.directory) as pipeline:
        yield pipeline


def test_the_test_kit_knows_both(tested: penstock.testing.PipelineUnderTest) -> None:
    row = {"id": 1, "shop": "north", "ordered_at": "2026-01-01T00:00:00Z", "amount": 5.0}
    tested.feed("bronze.sales.orders", [row, {**row, "id": 2, "amount": -5.0}, {**row, "id": 3, "shop": None}])
    tested.step()

    def ids(rows: list[Row]) -> list[int]:
        return sorted(each["id"] for each in rows)

    assert [ids(tested.table(name)) for name in ("orders", "bronze.sales.orders", SILVER)] == [[1, 2], [1, 2], [1]]
    assert [ids(tested.quarantine(name)) for name in (f"bronze.{BRONZE}", SILVER)] == [[3], [2]]
    assert [list(tested.expectations(name)) for name in (BRONZE, SILVER)] == [["has_a_shop"], ["is_an_order"]]
    assert ids(tested.as_batch(SILVER)) == [1]
    assert ids(tested.as_batch(f"bronze.{BRONZE}")) == [1, 2]

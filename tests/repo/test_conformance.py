"""The conformance table: complete, without an empty cell, and every test that it names exists."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from penstock.analysis.rules.sinks import COLUMN_TYPES
from penstock.connectors.event_hubs import options as event_hubs
from penstock.connectors.kafka import connector as kafka
from penstock.connectors.kinesis import options as kinesis
from penstock.declare import SPELLINGS
from penstock.errors import conditions
from penstock.graph.rules.jdbc_options import REFUSED
from penstock.graph.rules.sinks import FILE_FORMATS
from penstock.graph.sinks.jdbc_target import OWN_OPTIONS, SPARK_OPTIONS
from penstock.graph.sinks.sink_group import GROUP, SELECT
from penstock.spark.sources import delta
from penstock.spark.sources.auto_loader.options import names as auto_loader

ROOT = Path(__file__).resolve().parents[2]
_SINKS = "Databases, files and screens as sinks"
_REFUSED_OF_DELTA = [option.name for option in delta.OPTIONS if option.refused]


@pytest.fixture(scope="module")
def tool() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("generate_conformance", ROOT / "tools/generate_conformance.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass asks for the module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_the_page_is_current(tool: ModuleType) -> None:
    page = (ROOT / "docs/reference/conformance.md").read_text(encoding="utf-8")
    assert page == tool.render_page(), "run: python tools/generate_conformance.py"
    assert "reference/conformance.md" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_test_exists(tool: ModuleType) -> None:
    functions: dict[str, set[str]] = {}
    for row in _rows(tool):
        file, _, function = row.test.partition("::")
        if file not in functions:
            tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
            functions[file] = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert function.startswith("test_"), row
        assert function in functions[file], f"{row.name}: tests/{file} has no {function}"


def test_every_refusal_names_a_condition_and_a_reason(tool: ModuleType) -> None:
    for row in _rows(tool):
        assert row.name.strip(), row
        assert bool(row.condition) == bool(row.reason), row
        assert not (row.condition and row.no_effect), row
        assert not row.condition or row.condition in conditions(), row


def test_no_cell_is_empty(tool: ModuleType) -> None:
    lines = [line for line in tool.render_page().splitlines() if line.startswith("|")]
    for line in lines:
        cells = re.split(r"(?<!\\)\|", line)[1:-1]
        assert len(cells) == 4, line
        assert all(cell.strip() for cell in cells), line


def test_every_name_and_parameter_of_the_spellings_has_a_row(tool: ModuleType) -> None:
    """`a, b(x, y)` in the table stands for the parameters x and y of a and of b."""
    covered: set[tuple[str, str]] = set()
    for row in _rows(tool):
        if match := re.fullmatch(r"([\w, ]+)(?:\(([\w, ]+)\))?", row.name):
            for name in match[1].split(", "):
                covered |= {(name, parameter) for parameter in (match[2] or "").split(", ")}
    wanted = {
        (name, parameter)
        for names in SPELLINGS.values()
        for name, function in names.items()
        for parameter in ("", *_named_parameters(function))
    }
    assert sorted(wanted - covered) == []
    python = {name for names in SPELLINGS.values() for name in names}
    assert sorted((name, parameter) for name, parameter in covered - wanted if name in python) == []


def test_what_is_not_done_names_conditions_and_nothing_that_is_accepted(tool: ModuleType) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## What is not done")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([^`]+)`", section))
    refused_as = {name for name in named if re.fullmatch(r"[A-Z_]+", name)}
    assert len(refused_as) > 5
    assert refused_as <= set(conditions())
    accepted = {name.strip("`") for row in _rows(tool) if not row.condition for name in row.name.split(", ")}
    assert named & accepted == set()


@pytest.mark.parametrize(
    ("section", "options"),
    [
        ("Auto Loader: options", (*auto_loader.SUPPORTED, *auto_loader.WITHOUT_EFFECT, *auto_loader.REFUSED)),
        ("Kafka", (*kafka.OPTIONS, *kafka.REFUSED)),
        ("Delta tables", tuple(option.name for option in delta.OPTIONS)),
        ("Kinesis", (*kinesis.SUPPORTED, *kinesis.WITHOUT_EFFECT, *kinesis.REFUSED)),
        ("Event Hubs", (*event_hubs.OPTIONS, *event_hubs.SHARED, *event_hubs.WITHOUT_EFFECT, *event_hubs.REFUSED)),
    ],
)
def test_every_option_of_a_source_has_a_row(tool: ModuleType, section: str, options: tuple[str, ...]) -> None:
    rows = {name: row for row in tool.sections()[section] for name in row.name.split(", ")}
    assert [option for option in options if option not in rows] == []
    refusals = {"AUTO_LOADER_UNSUPPORTED_OPTION", "SOURCE_OPTION_REFUSED"}
    refused = {name for name, row in rows.items() if row.condition in refusals}
    never = {*auto_loader.REFUSED, *kafka.REFUSED, *event_hubs.REFUSED, *kinesis.REFUSED, *_REFUSED_OF_DELTA}
    assert refused == {option for option in options if option in never}


def _settings_of_s3() -> list[str]:
    """The names in the first column of the page's table."""
    page = (ROOT / "docs/how-to/object-stores.md").read_text(encoding="utf-8")
    _, _, table = page.partition("| setting after `spark.hadoop.fs.s3a.` |")
    rows = table.partition("\n\n")[0].splitlines()[2:]
    return [name for row in rows for name in re.findall(r"`([\w.]+)`", row.split("|")[1])]


@pytest.mark.parametrize(
    ("section", "kind", "options"),
    [
        ("Kafka", "sink", ("kafka.bootstrap.servers", "topic", *COLUMN_TYPES)),
        (_SINKS, "jdbc", (*SPARK_OPTIONS, *OWN_OPTIONS, *REFUSED)),
        (_SINKS, "files", ("path", "partitionBy", *FILE_FORMATS)),
        (_SINKS, "sinks", (GROUP, f"{SELECT}NAME")),
        ("Object stores", "fs.s3a", _settings_of_s3()),
    ],
)
def test_every_option_of_a_sink_has_a_row(
    tool: ModuleType, section: str, kind: str, options: tuple[str, ...] | list[str]
) -> None:
    """`kind: a, b` in the table stands for the options a and b."""
    rows = [row for row in tool.sections()[section] if row.name.startswith(f"{kind}: ")]
    named = {name: row for row in rows for name in row.name.removeprefix(f"{kind}: ").split(", ")}
    assert options
    assert [option for option in options if option not in named] == []
    assert {name for name in options if named[name].condition} == {name for name in options if name in REFUSED}


def test_every_option_of_jdbc_stands_in_its_page() -> None:
    page = (ROOT / "docs/how-to/jdbc.md").read_text(encoding="utf-8")
    assert [name for name in (*SPARK_OPTIONS, *OWN_OPTIONS) if f"`{name}`" not in page] == []


def test_every_option_of_auto_loader_stands_in_its_page(tool: ModuleType) -> None:
    rows = {name: row for row in tool.sections()["Auto Loader: options"] for name in row.name.split(", ")}
    assert [name for name in auto_loader.SUPPORTED if rows[name].no_effect] == []
    assert [name for name in auto_loader.WITHOUT_EFFECT if not rows[name].no_effect] == []
    page = (ROOT / "docs/how-to/auto-loader.md").read_text(encoding="utf-8")
    every = (*auto_loader.SUPPORTED, *auto_loader.WITHOUT_EFFECT, *auto_loader.REFUSED)
    named = [name for name in every if name.removeprefix(auto_loader.PREFIX).rpartition(".")[2] not in page]
    assert named == []


def test_every_option_of_kinesis_stands_in_its_page(tool: ModuleType) -> None:
    rows = {name: row for row in tool.sections()["Kinesis"] for name in row.name.split(", ")}
    assert [name for name in kinesis.SUPPORTED if rows[name].no_effect] == []
    assert [name for name in kinesis.WITHOUT_EFFECT if not rows[name].no_effect] == []
    page = (ROOT / "docs/how-to/kinesis.md").read_text(encoding="utf-8")
    every = (*kinesis.SUPPORTED, *kinesis.WITHOUT_EFFECT, *kinesis.REFUSED)
    assert [name for name in every if f"`{name}`" not in page] == []


def test_every_option_of_delta_stands_in_its_page() -> None:
    page = (ROOT / "docs/how-to/delta.md").read_text(encoding="utf-8")
    assert [name for name in (option.name.rstrip("*") for option in delta.OPTIONS) if f"`{name}" not in page] == []


def _named_parameters(function: Callable[..., Any]) -> Iterator[str]:
    """A refused declaration takes anything: `*arguments, **options` are no parameters of the API."""
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
            yield name


def _rows(tool: ModuleType) -> list[Any]:
    rows = [row for section in tool.sections().values() for row in section]
    assert len({row.name for row in rows}) == len(rows), "a name stands twice"
    return rows

"""Writes docs/reference/python-api.md from the declarations: python tools/generate_python_api.py [--check]."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock import connectors, sources
from penstock.declare import SPELLINGS
from penstock.declare.parameters import REFUSALS, WITHOUT_EFFECT
from penstock.testing import PipelineUnderTest, assert_parity, assert_table, batch_splits, pipeline
from penstock.testing import connectors as testing

TARGET = Path(__file__).resolve().parent.parent / "docs/reference/python-api.md"
HEAD = """\
# The declarations in Python

`import penstock as ps`, `import dlt` and `from pyspark import pipelines as dp` have the same names with the same
parameters. `table` makes a streaming table of a streaming query and a materialized view of a batch query; `dp.table`
does the latter with a notice, because Spark refuses it.

A decorator is used as `@table` or `@table(name="orders")`; those with a parameter without `=` need the parentheses.
Wrong names and types of parameters are reported with their line, all together. See also [sinks](../how-to/sinks.md) and
[tables in loops](../how-to/many-tables.md).

This page is made from `src/penstock/declare/` by `python tools/generate_python_api.py`.

| name | status | what it does |
|---|---|---|
"""
PARAMETERS = """
## Parameters

A parameter with a star after it has values that raise an error, or that have no effect and a notice: see the table
below.

"""
SOURCES = """
## Sources

`penstock.sources`; how they are used stands in [Kafka](../how-to/kafka.md) and [Event Hubs](../how-to/event-hubs.md).

| name | what it does |
|---|---|
"""
TESTING = """
## The test kit

`penstock.testing`; how it is used stands in [Test a pipeline](../how-to/test-a-pipeline.md). The fixture `pipeline` of
pytest is the `PipelineUnderTest` of the project in which a test stands.

| name | what it does |
|---|---|
"""
CONNECTORS = """
## Connectors

`penstock.connectors`, and the tests of `penstock.testing.connectors`; how they are used stands in
[Write a connector](../how-to/write-a-connector.md).

| name | what it is |
|---|---|
"""
_DECORATED = {"query_function", "sink_function", "user_event_hook_fn"}


def render_page() -> str:
    """Returns the whole page."""
    names = sorted(SPELLINGS["dlt"].items(), key=lambda entry: (entry[0].casefold(), entry[0]))
    overview = "".join(f"| `{name}` | {_status(one)} | {_summary(one)} |\n" for name, one in names)
    details = "".join(f"- `{name}({_parameters(name, one)})`\n" for name, one in names)
    refused = "".join(
        f"| `{name}` | {outcome} | {refusal.reason}. {refusal.alternative}. |\n"
        for refusals, outcome in ((REFUSALS, "error"), (WITHOUT_EFFECT, "no effect"))
        for name, refusal in sorted(refusals.items())
    )
    reasons = "\n| parameter* | its other values | why, and what to write |\n|---|---|---|\n" + refused
    return (
        HEAD
        + overview
        + PARAMETERS
        + details
        + reasons
        + SOURCES
        + _sources()
        + TESTING
        + _test_kit()
        + CONNECTORS
        + _connectors()
    )


def _sources() -> str:
    functions = [getattr(sources, name) for name in sources.__all__]
    return "".join(f"| `{one.__name__}({_names(one)})` | {_summary(one)} |\n" for one in functions)


def _test_kit() -> str:
    methods = [(f"PipelineUnderTest.{name}", one) for name, one in vars(PipelineUnderTest).items() if name[0] != "_"]
    functions = [(one.__name__, one) for one in (pipeline, assert_table, assert_parity, batch_splits)]
    return "".join(
        f"| `{name}({_names(one)})` | {_summary(one)} |\n" for name, one in [*functions, *methods] if callable(one)
    )


def _connectors() -> str:
    rows = [(name, _summary(getattr(connectors, name))) for name in connectors.__all__]
    for kit in (testing.SourceConformance, testing.RateLimitConformance, testing.SinkConformance):
        rows.append((kit.__name__, _summary(kit)))
        rows += [(f"{kit.__name__}.{name}", _summary(one)) for name, one in vars(kit).items() if name[:5] == "test_"]
    return "".join(f"| `{name}` | {what} |\n" for name, what in rows)


def _names(function: Callable[..., Any]) -> str:
    known = [each for each in inspect.signature(function).parameters.values() if each.name != "self"]
    return ", ".join(each.name + ("" if each.default is each.empty else f"={each.default!r}") for each in known)


def _status(function: Callable[..., Any]) -> str:
    summary = _first_line(function).casefold()
    return "supported, old name" if "old name" in summary or "another spelling" in summary else "supported"


def _summary(function: Callable[..., Any]) -> str:
    return _first_line(function).replace("|", "\\|")


def _first_line(function: Callable[..., Any]) -> str:
    return (inspect.getdoc(function) or "").partition("\n\n")[0].replace("\n", " ")


def _parameters(name: str, function: Callable[..., Any]) -> str:
    shown = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in _DECORATED:
            continue
        star = "*" if parameter.name in {**REFUSALS, **WITHOUT_EFFECT} and name != "create_sink" else ""
        needed = parameter.default is parameter.empty or (parameter.name, parameter.default) == ("target", "")
        shown.append(parameter.name + star + ("" if needed else f"={parameter.default!r}"))
    return ", ".join(shown)


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(TARGET.read_text(encoding="utf-8") != render_page())
    TARGET.write_text(render_page(), encoding="utf-8")

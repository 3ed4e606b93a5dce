"""`create_sink`, `foreach_batch_sink` and `update_flow`: what they declare and what they refuse."""

from __future__ import annotations

import pytest
from tests.unit.declare.conftest import Load
from tests.unit.declare.test_accepted_api import IMPORTS

from penstock.graph.elements import FormatSink, FunctionSink


@pytest.mark.parametrize("spelling", IMPORTS)
@pytest.mark.parametrize(
    "written", ["'out', 'kafka', {'a': 'b', 'n': 3}", "name='out', format='kafka', options={'a': 'b', 'n': 3}"]
)
def test_a_format_sink(load: Load, spelling: str, written: str) -> None:
    registry = load(f"{IMPORTS[spelling]}\nassert api.create_sink({written}) is None\n")
    assert registry.errors == ()
    sink = registry.graph().sinks[next(iter(registry.graph().sinks))]
    assert isinstance(sink, FormatSink)
    assert (str(sink.identifier), sink.format, sink.options) == ("default.out", "kafka", {"a": "b", "n": "3"})
    assert str(sink.location) == "pipeline.py:2"
    assert "'b'" not in repr(sink), "options can be secrets"


@pytest.mark.parametrize("spelling", IMPORTS)
@pytest.mark.parametrize("used", ["api.foreach_batch_sink", "api.foreach_batch_sink()"])
def test_a_function_sink_is_named_like_its_function(load: Load, spelling: str, used: str) -> None:
    text = f"{IMPORTS[spelling]}\n@{used}\ndef out(df, batch_id): seen.append((df, batch_id))\nseen = []\n"
    registry = load(text + "out('frame', 7)\nassert seen == [('frame', 7)], 'the name still means the function'\n")
    assert registry.errors == ()
    [sink] = registry.graph().sinks.values()
    assert isinstance(sink, FunctionSink)
    assert str(sink.identifier) == "default.out"
    sink.function("rows", 1)


def test_a_function_sink_with_a_name(load: Load) -> None:
    registry = load("import dlt\n@dlt.foreach_batch_sink(name='shop.out')\ndef f(df, batch_id, *more): ...\n")
    assert registry.errors == ()
    assert [str(name) for name in registry.graph().sinks] == ["shop.out"]


@pytest.mark.parametrize(
    "function",
    [
        "def out(df): ...",
        "def out(df, batch_id, more): ...",
        "async def out(df, batch_id): ...",
        "def out(df, batch_id): yield df",
        "class out: ...",
    ],
)
def test_functions_that_cannot_be_a_sink(load: Load, function: str) -> None:
    registry = load(
        f"import dlt\n@dlt.foreach_batch_sink\n{function}\n@dlt.append_flow(target='out')\ndef flow(): ...\n"
    )
    [error] = registry.errors
    assert (error.condition, str(error.location)) == ("INVALID_SINK_FUNCTION", "pipeline.py:2")
    assert registry.graph().refused, "its flows are not reported as well"


@pytest.mark.parametrize(
    ("written", "condition", "parameter"),
    [
        ("create_sink('out')", "MISSING_PARAMETER", "format"),
        ("create_sink(format='kafka')", "MISSING_PARAMETER", "name"),
        ("create_sink('out', 'kafka', ['a'])", "INVALID_PARAMETER", "options"),
        ("create_sink('out', 7)", "INVALID_PARAMETER", "format"),
        ("create_sink('out', 'kafka', optoins={})", "UNKNOWN_PARAMETER", "optoins"),
        ("foreach_batch_sink(7)", "INVALID_PARAMETER", "sink_function"),
        ("update_flow(name='f')", "MISSING_PARAMETER", "target"),
        ("update_flow(target='t', once=True)", "UNKNOWN_PARAMETER", "once"),
    ],
)
def test_wrong_arguments(load: Load, written: str, condition: str, parameter: str) -> None:
    registry = load(f"import dlt\ndlt.{written}\n")
    assert [(error.condition, error.facts["parameter"]) for error in registry.errors] == [(condition, parameter)]


@pytest.mark.parametrize("above", [True, False])
def test_an_expectation_on_a_sink(load: Load, above: bool) -> None:
    lines = ["@dlt.expect_all({'a': 'x', 'b': 'y'})", "@dlt.foreach_batch_sink"]
    text = "\n".join(lines if above else lines[::-1])
    registry = load(f"import dlt\n{text}\ndef out(df, batch_id): ...\n")
    assert [error.condition for error in registry.errors] == ["EXPECTATION_ON_SINK"] * 2
    assert {error.facts["name"] for error in registry.errors} == {"default.out"}


def test_an_update_flow(load: Load) -> None:
    registry = load(
        "from pyspark import pipelines as dp\n"
        "@dp.update_flow(name='live', target='out', spark_conf={'pipelines.trigger': 'RealTime'}, keys=['id'])\n"
        "def f(): return 3\n"
    )
    [flow] = registry.flows
    assert (flow.name, str(flow.target), flow.updates, flow.once) == ("live", "default.out", True, False)
    assert flow.spark_conf == {"pipelines.trigger": "RealTime"}
    assert flow.update_keys == ("id",)
    assert flow.function() == 3

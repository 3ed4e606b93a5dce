"""How decorators meet on one function, and what they say about wrong combinations."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from tests.unit.declare.conftest import Load

import penstock as ps
from penstock.declare import SPELLINGS
from penstock.errors import DefinitionError
from penstock.graph.elements import MaterializedView, TemporaryView


def test_order_of_expectations_is_the_order_of_the_lines(load: Load) -> None:
    registry = load("""
        import dlt
        @dlt.expect("a", "1")
        @dlt.expect_all_or_drop({"b": "2", "c": "3"})
        @dlt.table
        @dlt.expect_or_fail("d", "4")
        @dlt.expect("e", "5")
        def t(): ...
        """)
    assert registry.errors == ()
    assert [e.name for e in registry.datasets[0].expectations] == ["a", "b", "c", "d", "e"]
    assert [e.location.line for e in registry.datasets[0].expectations] == [3, 4, 4, 6, 7]
    assert registry.datasets[0].location.line == 5


def test_one_function_defines_many_datasets(load: Load) -> None:
    registry = load("""
        import penstock as ps
        def build(): return 1
        checked = ps.expect("below", "1")(build)
        for n in range(2):
            ps.expect(f"above {n}", "2")(ps.table(name=f"t{n}")(checked))
        ps.materialized_view(name="plain")(build)
        """)
    assert registry.errors == ()
    assert {d.identifier.name: [e.name for e in d.expectations] for d in registry.datasets} == {
        "t0": ["above 0", "below"],
        "t1": ["above 1", "below"],
        "plain": [],
    }


def test_loop_variables_bound_by_default_arguments(load: Load) -> None:
    registry = load("""
        import dlt
        for table in ("a", "b"):
            @dlt.table(name=table)
            def query(table=table): return table
        """)
    assert [flow.function() for flow in registry.flows] == ["a", "b"]


def test_table_and_flow_on_one_function(load: Load) -> None:
    registry = load("""
        import dlt
        dlt.create_streaming_table("all_orders")
        @dlt.append_flow(target="all_orders", name="first")
        @dlt.append_flow(target="all_orders", name="second")
        def orders(): return 3
        """)
    assert registry.errors == ()
    assert [(flow.name, flow.function()) for flow in registry.flows] == [("second", 3), ("first", 3)]


def test_decorated_function_is_still_the_users(load: Load) -> None:
    registry = load("""
        import dlt
        @dlt.table
        @dlt.expect("a", "1")
        def first():
            "Doc."
            return 1
        @dlt.table
        def second(): return first() + 1
        assert first.__name__ == "first" and first.__doc__ == "Doc."
        """)
    assert registry.errors == ()
    assert registry.flows[1].function() == 2


def test_decorators_of_the_user_between_ours(load: Load) -> None:
    registry = load("""
        import functools
        import dlt
        def doubled(function):
            @functools.wraps(function)
            def run(): return 2 * function()
            return run
        @dlt.table
        @doubled
        @dlt.expect("a", "1")
        def t(): return 4
        @dlt.expect("above", "1")
        @doubled
        @dlt.table
        def u(): return 4
        """)
    assert registry.errors == ()
    assert [[e.name for e in dataset.expectations] for dataset in registry.datasets] == [["a"], ["above"]]
    assert [flow.function() for flow in registry.flows] == [8, 4]


def test_names_of_one_to_three_parts(load: Load) -> None:
    registry = load(
        """
        import dlt
        for name in ("a", "s.b", "c.s.d", "LIVE.e", "`with.dot`"):
            dlt.create_streaming_table(name)
        """,
        default_schema="shop",
    )
    assert [str(d.identifier) for d in registry.datasets] == ["shop.a", "s.b", "s.d", "shop.e", "shop.`with.dot`"]


@pytest.mark.parametrize("name", ["a.b.c.d", "a..b", "."])
def test_invalid_names(load: Load, name: str) -> None:
    registry = load(f"import dlt\n@dlt.table(name={name!r})\ndef f(): ...\ndlt.create_streaming_table({name!r})\n")
    assert [(e.condition, e.facts["name"], str(e.location)) for e in registry.errors] == [
        ("INVALID_DATASET_NAME", name, "pipeline.py:2"),
        ("INVALID_DATASET_NAME", name, "pipeline.py:4"),
    ]
    assert registry.datasets == ()


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("def f(x): ...", "it needs the argument 'x'"),
        ("def f(*, x): ...", "it needs the argument 'x'"),
        ("async def f(): ...", "it is async"),
        ("def f(): yield 1", "it yields instead of returning"),
        ("class f: ...", "it is a class"),
    ],
)
@pytest.mark.parametrize("decorator", ["table", "view", "append_flow(target='t')"])
def test_functions_that_cannot_be_queries(load: Load, function: str, reason: str, decorator: str) -> None:
    registry = load(f"import dlt\n@dlt.expect('above', 'a')\n@dlt.{decorator}\n@dlt.expect('e', 'a')\n{function}\n")
    (error,) = registry.errors
    assert error.condition == "INVALID_DATASET_FUNCTION"
    assert error.facts == {"function": "f", "reason": reason}
    assert registry.graph().refused


def test_expectation_without_dataset(load: Load) -> None:
    registry = load("import dlt\n@dlt.expect('a rule', 'x > 0')\ndef f(): ...\n")
    (error,) = registry.errors
    assert error.condition == "EXPECTATION_WITHOUT_DATASET"
    assert error.facts == {"expectation": "a rule", "function": "f"}
    assert str(error.location) == "pipeline.py:2"


@pytest.mark.parametrize("above", [True, False])
def test_expectation_on_a_flow(load: Load, above: bool) -> None:
    lines = ["@dlt.expect('a rule', 'x > 0')", "@dlt.append_flow(target='t')"]
    registry = load("\n".join(["import dlt", *(lines if above else lines[::-1]), "def f(): ..."]))
    (error,) = registry.errors
    assert error.condition == "EXPECTATION_ON_FLOW"
    assert error.facts == {"expectation": "a rule", "flow": "f", "target": "default.t"}


def test_expectation_on_something_else(load: Load) -> None:
    registry = load("import dlt\ndlt.expect('a', 'b')(5)\n")
    assert [(e.condition, e.facts["reason"]) for e in registry.errors] == [
        ("INVALID_DATASET_FUNCTION", "it decorates int")
    ]


@pytest.mark.parametrize(
    "declare",
    [
        lambda: ps.table(lambda: 1),
        lambda: ps.temporary_view(name="v"),
        lambda: ps.create_streaming_table("t"),
        lambda: ps.append_flow(target="t"),
        lambda: ps.expect("a", "b"),
        lambda: SPELLINGS["penstock"]["create_sink"]("s", "kafka", {}),
    ],
)
def test_declaring_outside_of_a_load(declare: object) -> None:
    assert callable(declare)
    with pytest.raises(DefinitionError) as raised:
        declare()
    assert raised.value.condition == "DECLARED_OUTSIDE_PIPELINE"
    assert raised.value.facts["name"] in {
        "table",
        "temporary_view",
        "create_streaming_table",
        "append_flow",
        "expect",
        "create_sink",
    }


def test_declaring_inside_a_dataset_function(load: Load) -> None:
    registry = load("import dlt\n@dlt.table\ndef t():\n    dlt.create_streaming_table('late')\n")
    with pytest.raises(DefinitionError) as raised:
        registry.flows[0].function()
    assert raised.value.condition == "DECLARED_OUTSIDE_PIPELINE"


@pytest.mark.parametrize("function", ["read", "read_stream", "readStream"])
def test_reads_while_loading(load: Load, function: str) -> None:
    registry = load(f"import dlt\n\ndlt.{function}('orders')\n")
    (error,) = registry.errors
    assert error.condition == "READ_OUTSIDE_DATASET_FUNCTION"
    assert error.facts == {"name": "orders"}
    assert str(error.location) == "pipeline.py:3"


@pytest.mark.parametrize("function", [ps.read, ps.read_stream, ps.readStream])
def test_reads_of_something_that_is_no_name(function: object) -> None:
    assert callable(function)
    with pytest.raises(DefinitionError) as raised:
        function(5)
    assert raised.value.condition == "INVALID_PARAMETER"
    assert raised.value.facts["got"] == "int"


def test_reads_without_a_session() -> None:
    with pytest.raises(DefinitionError) as raised:
        ps.read("orders")
    assert raised.value.condition == "NO_ACTIVE_OR_DEFAULT_SESSION"
    assert raised.value.facts == {"name": "orders"}


def test_what_the_flow_of_a_table_holds(load: Load) -> None:
    registry = load(
        "import dlt\n@dlt.table(name='s.t', spark_conf={'pipelines.trigger.interval': '1 second'})\ndef f(): ...\n"
    )
    assert registry.flows[0].name == "t"
    assert registry.flows[0].spark_conf == registry.datasets[0].spark_conf == {"pipelines.trigger.interval": "1 second"}


def test_kinds(load: Load) -> None:
    registry = load("import penstock as ps\nps.materialized_view(name='m')(lambda: 1)\nps.view(name='v')(lambda: 1)\n")
    assert [type(d) for d in registry.datasets] == [MaterializedView, TemporaryView]


def test_signatures_show_the_users_parameters_only() -> None:
    assert list(inspect.signature(ps.expect).parameters) == ["name", "inv"]
    assert list(inspect.signature(ps.table).parameters)[:3] == ["query_function", "name", "comment"]
    assert ps.table.__doc__
    assert ps.create_streaming_table.__doc__


def test_the_stub_for_editors_names_the_same() -> None:
    stub = Path(ps.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    assert sorted(re.findall(r" as (\w+),?$", stub, re.MULTILINE)) == sorted([*ps.__all__, "sources"])


def test_every_exported_name_is_served() -> None:
    for name in ps.__all__:
        assert callable(getattr(ps, name))
    unknown = "no_such_name"
    with pytest.raises(AttributeError):
        getattr(ps, unknown)

"""Column lineage from the JSON form of plans: what is said of each kind of node, and that nothing is left out."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.spark.plan_nodes import Tree, alias, attribute, expression, join_type, node

from penstock.graph.schema.column_lineage import ColumnLineage, InputColumn, Transformation
from penstock.spark.lineage.plan import NO_DATA, lineage_of_plan

A, B, C = attribute(1, "a"), attribute(2, "b"), attribute(3, "c")
TABLE = node("LocalRelation", output=[A, B, C])
MANY = 5_000


def shown(found: ColumnLineage) -> dict[str, str]:
    told = {column.name: _text(column.inputs, resolved=column.resolved) for column in found.columns}
    return {**told, "(rows)": _text(found.rows, resolved=found.rows_resolved)}


def _text(inputs: tuple[InputColumn, ...], *, resolved: bool) -> str:
    each = [f"{one.dataset}.{one.column} {'+'.join(kind.value for kind in one.how)}" for one in inputs]
    return ", ".join(each if resolved else [*each, "?"])


def of(plan: Tree, *names: str, leaves: tuple[str | None, ...] = ("t",)) -> dict[str, str]:
    return shown(lineage_of_plan(plan, leaves, names))


def project(plan: Tree, *columns: Tree) -> Tree:
    return node("Project", plan, projectList=list(columns))


def test_what_an_expression_is_made_of() -> None:
    add, big = expression("Add", A, B), expression("GreaterThan", C, expression("Literal"))
    case = expression("CaseWhen", big, A, expression("Literal"), B, add)
    summed = expression("AggregateExpression", expression("Sum", expression("If", big, A, B)), big)
    spec = expression("WindowSpecDefinition", B, expression("SortOrder", C), expression("SpecifiedWindowFrame"))
    rank = expression("WindowExpression", expression("Lag", A), spec)
    told = of(
        project(TABLE, alias(11, "same", A), *(alias(12 + i, "x", each) for i, each in enumerate((add, case, summed)))),
        *("same", "x", "x", "x"),
    )
    assert told["same"] == "t.a IDENTITY"
    assert told["x"] == "t.a AGGREGATION, t.b AGGREGATION, t.c CONDITIONAL"
    assert of(project(TABLE, alias(11, "x", add)), "x")["x"] == "t.a TRANSFORMATION, t.b TRANSFORMATION"
    assert (
        of(project(TABLE, alias(11, "x", case)), "x")["x"] == "t.a TRANSFORMATION, t.b TRANSFORMATION, t.c CONDITIONAL"
    )
    assert (
        of(node("Window", TABLE, windowExpressions=[alias(11, "x", rank)]), "a", "b", "c", "x")["x"]
        == "t.a TRANSFORMATION, t.b WINDOW, t.c WINDOW"
    )
    failing = expression("If", big, A, expression("RaiseError", B))
    assert of(project(TABLE, alias(11, "x", failing)), "x")["x"] == "t.a TRANSFORMATION, t.c CONDITIONAL"
    assert of(project(TABLE, alias(11, "x", expression("Literal"))), "x") == {"x": "", "(rows)": ""}


def test_ways_add_up_along_the_plan() -> None:
    counted = alias(11, "n", expression("AggregateExpression", expression("Sum", A)))
    grouped = node("Aggregate", TABLE, groupingExpressions=[B], aggregateExpressions=[B, counted])
    sorted_ = node("Sort", grouped, order=[expression("SortOrder", attribute(11, "n"))])
    kept = node("Filter", sorted_, condition=expression("IsNotNull", attribute(11, "n")))
    plan = project(kept, B, alias(12, "m", expression("Multiply", attribute(11, "n"), expression("Literal"))))
    assert of(plan, "b", "m") == {
        "b": "t.b IDENTITY",
        "m": "t.a AGGREGATION",
        "(rows)": "t.a FILTER+SORT, t.b GROUP_BY",
    }


def test_several_inputs() -> None:
    other = node("LocalRelation", output=[attribute(21, "a"), attribute(22, "z")])
    same = expression("EqualTo", A, attribute(21, "a"))
    names = ("a", "b", "c", "a", "z")
    joined = node("Join", TABLE, other, joinType=join_type("LeftOuter"), condition=same)
    assert of(joined, *names, leaves=("t", "u")) == {
        "a": "u.a IDENTITY",
        "b": "t.b IDENTITY",
        "c": "t.c IDENTITY",
        "z": "u.z IDENTITY",
        "(rows)": "t.a JOIN, u.a JOIN",
    }
    semi = node("Join", TABLE, other, joinType=join_type("LeftSemi"), condition=same)
    assert of(semi, "a", "b", "c", leaves=("t", "u"))["a"] == "t.a IDENTITY"
    union = node("Union", project(TABLE, A, alias(12, "z", expression("Abs", B))), other)
    assert of(union, "a", "z", leaves=("t", "u")) == {
        "a": "t.a IDENTITY, u.a IDENTITY",
        "z": "t.b TRANSFORMATION, u.z IDENTITY",
        "(rows)": "",
    }
    twice = node("Union", project(TABLE, A), project(TABLE, alias(12, "x", expression("Abs", A))))
    assert of(twice, "a", leaves=("t", "t"))["a"] == "t.a TRANSFORMATION"
    without = node("Except", project(TABLE, A), project(other, attribute(22, "z")))
    assert of(without, "a", leaves=("t", "u")) == {"a": "t.a IDENTITY", "(rows)": "t.a FILTER, u.z FILTER"}


def test_rows_that_become_several_or_fewer() -> None:
    word = attribute(11, "word")
    generate = node(
        "Generate", TABLE, generator=expression("Explode", A), generatorOutput=[word], unrequiredChildIndex=[]
    )
    assert of(project(generate, B, word), "b", "word") == {
        "b": "t.b IDENTITY",
        "word": "t.a TRANSFORMATION",
        "(rows)": "",
    }
    rows = [[A, expression("Literal")], [expression("Literal"), B]]
    expand = node("Expand", TABLE, projections=rows, output=[attribute(11, "x"), attribute(12, "y")])
    assert of(expand, "x", "y") == {"x": "t.a IDENTITY", "y": "t.b IDENTITY", "(rows)": ""}
    assert of(node("Distinct", project(TABLE, A)), "a")["(rows)"] == "t.a GROUP_BY"
    assert of(node("Deduplicate", TABLE, keys=[B]), "a", "b", "c")["(rows)"] == "t.b GROUP_BY"


def test_leaves_without_data_have_no_inputs() -> None:
    both = node("Join", node("Range", output=[A]), node("LocalRelation", output=[B]), joinType=join_type("Inner"))
    assert of(both, "a", "b", leaves=(None, NO_DATA)) == {"a": "", "b": "", "(rows)": ""}


@pytest.mark.parametrize(
    ("plan", "names", "expected"),
    [
        pytest.param(
            project(node("MapInPandas", TABLE, output=[attribute(11, "x")]), attribute(11, "x")),
            ("x",),
            {"x": "?", "(rows)": "?"},
            id="a-function-over-rows",
        ),
        pytest.param(node("OfALaterSpark", TABLE), ("a",), {"a": "?", "(rows)": "?"}, id="a-node-that-nobody-knows"),
        pytest.param(
            node("Filter", node("OfALaterSpark", TABLE), condition=A), ("a",), {"a": "?", "(rows)": "?"}, id="above-it"
        ),
        pytest.param(
            project(TABLE, B, alias(11, "x", expression("ScalarSubquery", A, plan=TABLE))),
            ("b", "x"),
            {"b": "t.b IDENTITY", "x": "t.a TRANSFORMATION, ?", "(rows)": ""},
            id="a-subquery",
        ),
        pytest.param(
            node("Filter", project(TABLE, A), condition=expression("Exists", plan=TABLE)),
            ("a",),
            {"a": "t.a IDENTITY", "(rows)": "?"},
            id="a-filter-by-a-subquery",
        ),
        pytest.param(project(TABLE, attribute(77, "x")), ("x",), {"x": "?", "(rows)": ""}, id="from-nowhere"),
        pytest.param(project(TABLE, A), ("other",), {"other": "?", "(rows)": "?"}, id="other-columns"),
        pytest.param(
            node("Generate", TABLE, generator=expression("Explode", A), generatorOutput=[B], unrequiredChildIndex=None),
            ("a",),
            {"a": "?", "(rows)": "?"},
            id="what-the-json-leaves-out",
        ),
        pytest.param(
            node("Join", TABLE, node("OneRowRelation"), joinType={"object": "Sideways$"}),
            ("a",),
            {"a": "?", "(rows)": "?"},
            id="a-join-of-another-kind",
        ),
        pytest.param(
            node("Sort", project(TABLE, A), order=None), ("a",), {"a": "t.a IDENTITY", "(rows)": "?"}, id="an-order"
        ),
    ],
)
def test_what_cannot_be_followed_is_not_guessed(plan: Tree, names: tuple[str, ...], expected: dict[str, str]) -> None:
    leaves = ("t", "u")[: sum(each["num-children"] == 0 for each in plan)]
    assert of(plan, *names, leaves=leaves) == expected


def test_a_leaf_that_is_not_known() -> None:
    assert of(TABLE, "a", "b", "c", leaves=(None,))["a"] == "?"
    assert of(TABLE, "a", "b", "c", leaves=("t", "u"))["a"] == "?", "the leaves are those of another plan"


def test_a_deep_expression_and_a_wide_table() -> None:
    deep = A
    for _ in range(MANY):
        deep = [*expression("Or", A, B)[:1], *A, *deep]
    assert of(node("Filter", TABLE, condition=deep), "a", "b", "c")["(rows)"] == "t.a FILTER"
    columns = [attribute(number, f"c{number}") for number in range(MANY)]
    wide = node("LocalRelation", output=columns)
    for _ in range(10):
        wide = project(wide, *columns)
    found = lineage_of_plan(wide, ["t"], [f"c{number}" for number in range(MANY)])
    assert found.columns[-1].inputs == (InputColumn("t", f"c{MANY - 1}", (Transformation.IDENTITY,)),)


# ---- an oracle: what a column does not come from can change without changing it ----

Row = dict[int, int]
Rows = list[Row]
Value = Callable[[Row], int]
Tables = dict[str, list[tuple[int, ...]]]
_WIDTH = 3


@dataclass(frozen=True)
class Query:
    """A plan, the ids of its columns, its leaves, and what it returns over given tables."""

    plan: Tree
    ids: tuple[int, ...]
    leaves: tuple[str, ...]
    run: Callable[[Tables], Rows]


@st.composite
def queries(draw: st.DrawFn) -> Query:
    numbers = itertools.count()

    def table() -> Query:
        name, ids = draw(st.sampled_from(("t", "u"))), tuple(next(numbers) for _ in range(_WIDTH))
        output = [attribute(each, f"c{place}") for place, each in enumerate(ids)]
        return Query(
            node("LocalRelation", output=output),
            ids,
            (name,),
            lambda tables: [dict(zip(ids, row, strict=True)) for row in tables[name]],
        )

    def column(query: Query) -> int:
        return draw(st.sampled_from(query.ids))

    def value(query: Query) -> tuple[Tree, Value]:
        x, y, z = column(query), column(query), column(query)
        ax, ay, az = (attribute(each, "c") for each in (x, y, z))

        def same(row: Row) -> int:
            return row[x]

        def added(row: Row) -> int:
            return row[x] + row[y]

        def chosen(row: Row) -> int:
            return row[y] if row[x] > 0 else row[z]

        def constant(_: Row) -> int:
            return 7

        ways: list[tuple[Tree, Value]] = [
            (ax, same),
            (expression("Add", ax, ay), added),
            (expression("If", expression("IsPositive", ax), ay, az), chosen),
            (expression("Literal"), constant),
        ]
        return draw(st.sampled_from(ways))

    def projected(query: Query) -> Query:
        values = [(next(numbers), *value(query)) for _ in range(draw(st.integers(1, 3)))]
        plan = project(query.plan, *(alias(number, "c", tree) for number, tree, _ in values))
        return Query(
            plan,
            tuple(number for number, _, _ in values),
            query.leaves,
            lambda tables: [{number: made(row) for number, _, made in values} for row in query.run(tables)],
        )

    def filtered(query: Query) -> Query:
        by = column(query)
        plan = node("Filter", query.plan, condition=expression("IsPositive", attribute(by, "c")))
        return Query(plan, query.ids, query.leaves, lambda tables: [row for row in query.run(tables) if row[by] > 0])

    def first(query: Query) -> Query:
        by = column(query)
        plan = node("GlobalLimit", node("Sort", query.plan, order=[expression("SortOrder", attribute(by, "c"))]))
        return Query(
            plan, query.ids, query.leaves, lambda tables: sorted(query.run(tables), key=lambda row: row[by])[:2]
        )

    def grouped(query: Query) -> Query:
        by, of_, total = column(query), column(query), next(numbers)
        summed = alias(total, "c", expression("AggregateExpression", expression("Sum", attribute(of_, "c"))))
        key = attribute(by, "c")
        plan = node("Aggregate", query.plan, groupingExpressions=[key], aggregateExpressions=[key, summed])

        def run(tables: Tables) -> Rows:
            found: dict[int, int] = {}
            for row in query.run(tables):
                found[row[by]] = found.get(row[by], 0) + row[of_]
            return [{by: key, total: value} for key, value in found.items()]

        return Query(plan, (by, total), query.leaves, run)

    def joined(left: Query, right: Query) -> Query:
        x, y = column(left), column(right)
        semi = draw(st.booleans())
        plan = node(
            "Join",
            left.plan,
            right.plan,
            joinType=join_type("LeftSemi" if semi else "Inner"),
            condition=expression("EqualTo", attribute(x, "c"), attribute(y, "c")),
        )

        def run(tables: Tables) -> Rows:
            others = right.run(tables)
            if semi:
                return [row for row in left.run(tables) if any(row[x] == other[y] for other in others)]
            return [row | other for row in left.run(tables) for other in others if row[x] == other[y]]

        return Query(plan, left.ids if semi else left.ids + right.ids, left.leaves + right.leaves, run)

    def united(left: Query, right: Query) -> Query:
        width = min(len(left.ids), len(right.ids))
        ids, others = left.ids[:width], right.ids[:width]
        plan = node(
            "Union",
            project(left.plan, *(attribute(each, "c") for each in ids)),
            project(right.plan, *(attribute(each, "c") for each in others)),
        )

        def run(tables: Tables) -> Rows:
            return [{each: row[each] for each in ids} for row in left.run(tables)] + [
                {each: row[other] for each, other in zip(ids, others, strict=True)} for row in right.run(tables)
            ]

        return Query(plan, ids, left.leaves + right.leaves, run)

    query = table()
    for _ in range(draw(st.integers(1, 5))):
        if draw(st.integers(0, 3)):
            query = draw(st.sampled_from((projected, filtered, first, grouped)))(query)
        else:
            query = draw(st.sampled_from((joined, united)))(query, table())
    return query


_VALUES = st.lists(st.tuples(*[st.integers(-2, 2)] * _WIDTH), min_size=1, max_size=4)


@settings(max_examples=150, deadline=None)
@given(query=queries(), tables=st.fixed_dictionaries({"t": _VALUES, "u": _VALUES}), value=st.integers(-2, 2))
def test_no_input_is_left_out(query: Query, tables: Tables, value: int) -> None:
    top = project(
        query.plan, *(alias(-1 - place, f"o{place}", attribute(each, "c")) for place, each in enumerate(query.ids))
    )
    found = lineage_of_plan(top, query.leaves, [f"o{place}" for place in range(len(query.ids))])
    assert found.rows_resolved
    assert all(column.resolved for column in found.columns)
    before = query.run(tables)
    decides = {(each.dataset, each.column) for each in found.rows}
    for name, place in itertools.product(tables, range(_WIDTH)):
        if (name, f"c{place}") in decides:
            continue
        changed = [(*row[:place], value + number, *row[place + 1 :]) for number, row in enumerate(tables[name])]
        after = query.run({**tables, name: changed})
        assert len(after) == len(before)
        for column, each in zip(found.columns, query.ids, strict=True):
            if (name, f"c{place}") not in {(one.dataset, one.column) for one in column.inputs}:
                assert [row[each] for row in after] == [row[each] for row in before]

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.graph.schema.table_schema import Column, Schema

ATOMS = {
    "string": "string",
    "long": "bigint",
    "integer": "int",
    "short": "smallint",
    "byte": "tinyint",
    "double": "double",
    "boolean": "boolean",
    "timestamp": "timestamp",
    "decimal(10,2)": "decimal(10,2)",
}


def field(name: str, data_type: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": data_type, "nullable": True, "metadata": {}, **more}


def schema(*fields: dict[str, Any]) -> Schema:
    return Schema(json.dumps({"type": "struct", "fields": list(fields)}))


def types() -> st.SearchStrategy[tuple[Any, str]]:
    """Pairs of a type in Spark's JSON and its simple string."""

    def nested(inner: st.SearchStrategy[tuple[Any, str]]) -> st.SearchStrategy[tuple[Any, str]]:
        arrays = inner.map(
            lambda one: ({"type": "array", "elementType": one[0], "containsNull": True}, f"array<{one[1]}>")
        )
        maps = st.tuples(inner, inner).map(
            lambda two: (
                {"type": "map", "keyType": two[0][0], "valueType": two[1][0], "valueContainsNull": True},
                f"map<{two[0][1]},{two[1][1]}>",
            )
        )
        structs = st.lists(inner, max_size=3).map(
            lambda some: (
                {"type": "struct", "fields": [field(f"f{index}", one[0]) for index, one in enumerate(some)]},
                "struct<" + ",".join(f"f{index}:{one[1]}" for index, one in enumerate(some)) + ">",
            )
        )
        return arrays | maps | structs

    return st.recursive(st.sampled_from(sorted(ATOMS.items())), nested, max_leaves=6)


@given(st.lists(types(), max_size=4))
def test_types_are_spark_s_simple_strings(described: list[tuple[Any, str]]) -> None:
    made = schema(*(field(f"c{index}", data_type) for index, (data_type, _) in enumerate(described)))
    assert [column.type for column in made.columns] == [simple for _, simple in described]
    assert made.names == tuple(f"c{index}" for index in range(len(described)))


def test_columns_keep_order_nullability_and_comment() -> None:
    made = schema(
        field("b", "long", nullable=False, metadata={"comment": "the key"}),
        {"name": "a", "type": "string"},
    )
    assert made.columns == (Column("b", "bigint", nullable=False, comment="the key"), Column("a", "string"))
    assert str(made) == "b bigint, a string"


def test_a_user_defined_type_is_named() -> None:
    assert schema(field("v", {"type": "udt", "class": "x.Vector"})).columns[0].type == "udt"


@pytest.mark.parametrize("text", ["", "[]", "{}"])
def test_text_that_is_no_schema_is_a_bug_of_the_caller(text: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        _ = Schema(text).columns


def test_schemas_compare_by_their_document() -> None:
    assert schema(field("a", "long")) == schema(field("a", "long"))
    assert schema(field("a", "long")) != schema(field("a", "integer"))

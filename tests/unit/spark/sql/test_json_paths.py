from __future__ import annotations

import pytest

from penstock.spark.sql.edits import EditedStatement
from penstock.spark.sql.json_paths import JsonPath, json_path
from penstock.spark.sql.scanner import Words


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (":a", "$.a"),
        (":a.b[0].c", "$.a.b[0].c"),
        (":['a b'].c", "$['a b'].c"),
        (':["it\'s"]', "$['it's']"),
        (":`a.b`.c", "$['a.b'].c"),
        (" : a . b [ 10 ]", "$.a.b[10]"),
    ],
)
def test_json_paths(text: str, path: str) -> None:
    assert json_path(Words(text).tokens) == path


def test_a_path_becomes_a_function_call_under_its_own_name() -> None:
    statement = "SELECT raw:a::int, raw:b.c FROM t WHERE raw:d = 1"
    paths = [
        JsonPath(7, 10, 12, "$.a", (0, "raw"), "a", 17),
        JsonPath(19, 22, 26, "$.b.c", (0, "raw"), "c", 26),
        JsonPath(40, 43, 45, "$['d\\']", (1, "raw"), "", None),
    ]
    edited = EditedStatement.of(statement, [edit for path in paths for edit in path.as_function()])
    assert edited.text == (
        "SELECT get_json_object(raw, '$.a')::int AS `a`, get_json_object(raw, '$.b.c') AS `c` FROM t"
        " WHERE get_json_object(raw, '$[\\'d\\\\\\']') = 1"
    )

"""Whether a function means the same after its file was loaded again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.declare import load_pipeline
from penstock.declare.code.function_key import function_key

CODE = """\
import functools
import penstock as ps
import helpers

LIMIT = 5

def above(value):
    return value > LIMIT

@ps.table
def orders():
    return [helpers.double(row) for row in range(9) if above(row)]
"""
HELPERS = "FACTOR = 2\n\ndef double(value):\n    return FACTOR * value\n\ndef other():\n    return 1\n"


@pytest.fixture
def key(tmp_path: Path) -> Any:
    def of(code: str = CODE, helpers: str = HELPERS) -> str | None:
        (tmp_path / "pipeline.py").write_text(code)
        (tmp_path / "helpers.py").write_text(helpers)
        registry = load_pipeline([tmp_path / "pipeline.py"], root=tmp_path, spark=None, configuration={})
        assert not registry.errors
        return function_key(registry.graph().flows[0].function)

    return of


def test_a_second_load_is_the_same(key: Any) -> None:
    assert key() is not None
    assert key() == key()


@pytest.mark.parametrize(
    ("before", "after"),
    [("LIMIT = 5", "LIMIT = 6"), ("value > LIMIT", "value >= LIMIT"), ("range(9)", "range(8)")],
)
def test_a_change_in_the_function_or_what_it_calls(key: Any, before: str, after: str) -> None:
    assert key() != key(CODE.replace(before, after))


def test_a_change_in_a_module_of_the_pipeline(key: Any) -> None:
    assert key() != key(helpers=HELPERS.replace("FACTOR = 2", "FACTOR = 3"))
    assert key() != key(helpers=HELPERS.replace("FACTOR * value", "value + FACTOR"))


def test_lines_comments_and_other_functions_do_not_count(key: Any) -> None:
    assert key() == key("# a comment\n\n" + CODE + "\n\ndef unused():\n    return 7\n")
    assert key() == key(helpers=HELPERS.replace("return 1", "return 2"))


def test_what_cannot_be_compared_has_no_key(key: Any) -> None:
    assert key(CODE.replace("LIMIT = 5", "LIMIT = object()")) is None
    assert key(CODE.replace("    return [", "    import helpers\n    return [")) is None


def test_values() -> None:
    assert function_key({"a": [1, 2.0, None]}, {"x", "y"}) == function_key({"a": [1, 2.0, None]}, {"y", "x"})
    assert function_key(1) != function_key("1") != function_key(True)

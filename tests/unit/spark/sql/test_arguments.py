from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.errors import DefinitionError
from penstock.spark.sql.arguments import Argument, Arguments

STATEMENT = "SELECT *\nFROM f('p', format => 'json', x => 1)"


def _bind(*arguments: tuple[str | None, Any], positional: tuple[str, ...] = ("path",)) -> Arguments:
    found = [Argument(name, value, 16 + number) for number, (name, value) in enumerate(arguments)]
    return Arguments("f", STATEMENT, 14, found, positional)


def test_arguments_by_position_and_by_name() -> None:
    arguments = _bind((None, "p"), ("FORMAT", "json"), ("multiLine", True), ("n", 3), ("d", "1.5"), ("unset", None))
    assert arguments.required("path", "f('p')") == "p"
    assert arguments.text("format") == "json"
    assert arguments.text("schema") is None
    assert arguments.options() == {"multiLine": "true", "n": "3", "d": "1.5"}
    assert _bind(("path", "p")).required("PATH", "f('p')") == "p"
    assert _bind((None, {"a": 1, "b": None, "c": False})).mapping("path") == {"a": "1", "c": "false"}


def test_options_take_the_spelling_of_the_known_names() -> None:
    arguments = _bind(("MULTILINE", "true"), ("kafka.security.protocol", "SSL"))
    assert arguments.options(["multiLine"], prefix="kafka.") == {
        "multiLine": "true",
        "kafka.security.protocol": "SSL",
    }


@pytest.mark.parametrize(
    ("call", "condition", "facts", "column"),
    [
        (lambda: _bind().required("path", "f('p')"), "TABLE_FUNCTION_ARGUMENT_MISSING", {"argument": "path"}, 6),
        (lambda: _bind((None, "a"), (None, "b")), "TABLE_FUNCTION_ARGUMENT_INVALID", {"argument": "last of f"}, 9),
        (lambda: _bind((None, "a"), ("Path", "b")), "TABLE_FUNCTION_ARGUMENT_INVALID", {"reason": "is given twice"}, 9),
        (lambda: _bind((None, 1)).text("path"), "TABLE_FUNCTION_ARGUMENT_INVALID", {"reason": "is not a string"}, 8),
        (lambda: _bind((None, "a")).mapping("path"), "TABLE_FUNCTION_ARGUMENT_INVALID", {"reason": "is not a map"}, 8),
        (lambda: _bind((None, {"a": 1})).options(), "TABLE_FUNCTION_ARGUMENT_INVALID", {"reason": "is a map"}, 8),
        (
            lambda: _bind((None, "a"), ("multiline", 1)).options(["path", "multiLines"]),
            "TABLE_FUNCTION_UNKNOWN_ARGUMENT",
            {"argument": "multiline", "suggestion": "Did you mean 'multiLines'?"},
            9,
        ),
    ],
)  # fmt: skip
def test_wrong_arguments_stand_where_they_are(
    call: Callable[[], object], condition: str, facts: dict[str, str], column: int
) -> None:
    with pytest.raises(DefinitionError) as raised:
        call()
    assert raised.value.condition == condition
    assert facts.items() <= raised.value.facts.items()
    assert raised.value.position is not None
    assert (raised.value.position.line, raised.value.position.column) == (2, column)


def test_a_wrong_value_is_not_repeated() -> None:
    with pytest.raises(DefinitionError) as raised:
        _bind((None, "s3cret")).mapping("path")
    assert "s3cret" not in f"{raised.value.message} {raised.value.fix} {raised.value.facts}"

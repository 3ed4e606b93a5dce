"""What a connector's options say about those that an author gives."""

from __future__ import annotations

from typing import Literal

import pytest

from penstock.errors import DefinitionError
from penstock.spark.sources.option import Option, check_options, problems, with_defaults

_OPTIONS = (
    Option("table", "the table to read", required=True),
    Option("maxRows", type="number", default="10"),
    Option("follow", type="flag"),
    Option("password", secret=True, type="number"),
    Option("client.*"),
    Option("client.mode", refused="there is one mode", instead="Remove it", harmless="plain"),
)


def test_what_is_right() -> None:
    given = {"TABLE": "orders", "maxrows": "5", "follow": "True", "client.x": "y", "client.mode": " PLAIN"}
    assert list(problems(_OPTIONS, given)) == []
    check_options("toy", _OPTIONS, given)


@pytest.mark.parametrize(
    ("given", "condition", "option", "words"),
    [
        ({"tables": "t", "table": "t"}, "SOURCE_OPTION_UNKNOWN", "tables", "'table'"),
        ({"table": "t", "CLIENT.MODE": "x"}, "SOURCE_OPTION_REFUSED", "client.mode", "there is one mode"),
        ({"table": "t", "maxRows": "-1"}, "SOURCE_OPTION_INVALID", "maxRows", "a whole number, not '-1'"),
        ({"table": "t", "follow": "yes"}, "SOURCE_OPTION_INVALID", "follow", "true or false, not 'yes'"),
        ({}, "SOURCE_OPTION_INVALID", "table", "'table' is missing"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, str], condition: str, option: str, words: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        check_options("toy", _OPTIONS, given)
    assert refused.value.condition == condition
    assert refused.value.facts["option"] == option
    assert words in refused.value.message


def test_a_secret_is_never_repeated() -> None:
    with pytest.raises(DefinitionError) as refused:
        check_options("toy", _OPTIONS, {"table": "t", "password": "canary"})
    assert "canary" not in f"{refused.value} {refused.value.facts}"
    assert "'password'" in refused.value.message


def test_options_have_their_own_names_and_defaults() -> None:
    found = with_defaults(_OPTIONS, {"TABLE": "t", "Client.X": "y"})
    assert found == {"table": "t", "maxRows": "10", "Client.X": "y"}


@pytest.mark.parametrize("kind", ["text", "number", "flag"])
def test_a_default_fits_its_type(kind: Literal["text", "number", "flag"]) -> None:
    value = {"text": "x", "number": "1", "flag": "false"}[kind]
    assert not list(problems([Option("a", type=kind, default=value)], {"a": value}))

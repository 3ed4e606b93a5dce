"""Functions in the place of methods, and who answers reads meanwhile."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, cast

import pytest

from penstock.spark.reading.method_hooks import hook, hooked
from penstock.spark.reading.read_handler import (
    ReadHandler,
    current_handler,
    handling_reads,
    handling_reads_everywhere,
    unhooked,
)

_HANDLER = cast("ReadHandler", object())


def _twice(original: Any, *arguments: Any) -> str:
    return str(original(*arguments)) * 2


class _Reader:
    def load(self, path: str) -> str:
        """Returns rows."""
        return path

    @classmethod
    def name(cls) -> str:
        return cls.__name__


def test_hook_gets_the_original_and_looks_like_it() -> None:
    class Reader(_Reader):
        pass

    hook(Reader, "load", _twice)
    assert Reader().load("a") == "aa"
    assert Reader.load.__doc__ == "Returns rows."
    assert _Reader().load("a") == "a"


def test_hook_for_a_while_leaves_methods_as_they_were() -> None:
    with hooked(_Reader, "load", _twice), hooked(_Reader, "name", _twice):
        assert (_Reader().load("a"), _Reader.name(), _Reader().name()) == ("aa", *["_Reader_Reader"] * 2)
    assert (_Reader().load("a"), _Reader().name()) == ("a", "_Reader")


@pytest.mark.parametrize("handling", [handling_reads(_HANDLER), handling_reads_everywhere(_HANDLER)])
def test_no_handler_is_in_force_while_one_answers(handling: AbstractContextManager[None]) -> None:
    with handling:
        assert current_handler() is _HANDLER
        assert unhooked(current_handler) is None
        assert current_handler() is _HANDLER
    assert current_handler() is None

"""A folder that several flows read is not cleaned by one of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from penstock.runtime.flows.files.source_cleaning import other_readers


def _flow(target: str, sources: Mapping[str, str] | None) -> Any:
    stream = None if sources is None else SimpleNamespace(sources=sources)
    return SimpleNamespace(declaration=SimpleNamespace(target=target), stream=stream)


def test_other_readers_of_a_path() -> None:
    cleaning = _flow("shop.a", {"in": "cloudFiles ./in", "more": "cloudFiles ./more"})
    others = [
        _flow("shop.b", {"other_name": "json ./in/"}),
        _flow("shop.c", {"in": "kafka in", "x": "cloudFiles ./in/below"}),
        _flow("shop.d", None),
    ]
    graph: Any = SimpleNamespace(flows=(cleaning, *others))
    assert other_readers(graph, cleaning, "in") == ("shop.b",)
    assert other_readers(graph, cleaning, "more") == ()
    assert other_readers(graph, cleaning, "unknown") == ()
    assert other_readers(graph, others[2], "in") == ()


def test_a_path_that_one_flow_reads_twice() -> None:
    twice = _flow("shop.a", {"in": "cloudFiles ./in", "in_2": "cloudFiles ./in"})
    graph: Any = SimpleNamespace(flows=(twice,))
    assert other_readers(graph, twice, "in") == ("shop.a",)

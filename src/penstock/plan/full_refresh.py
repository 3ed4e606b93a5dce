"""A table that is recomputed takes the streams that read it with it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from penstock.errors import StateError
from penstock.graph.elements import RESET_ALLOWED, StreamingTable
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import ResolvedGraph


def reset_allowed(graph: ResolvedGraph, identifier: Identifier) -> bool:
    """Whether the table may be emptied; its property `pipelines.reset.allowed` can say false. Sinks may start again."""
    if identifier in graph.sinks:
        return True
    return str(graph.tables[identifier].table_properties.get(RESET_ALLOWED, "true")).casefold() != "false"


@dataclass(frozen=True, slots=True)
class FullRefreshCheck:
    """Finds the streams that a full refresh would break.

    `exists` says which tables are there, and which sinks have checkpoints: another has no stream that
    could break.
    """

    graph: ResolvedGraph
    exists: Callable[[Identifier], bool]

    def check(self, reset: frozenset[Identifier]) -> None:
        """Makes sure that `reset`, the tables to be emptied or created again, holds all that streams from them.

        Raises:
            StateError: FULL_REFRESH_BREAKS_READERS, with the command that is safe.
        """
        for identifier in self.graph.order:
            if identifier not in reset or not isinstance(self.graph.tables[identifier], StreamingTable):
                continue
            left_out = [reader for reader in self._streaming_readers(identifier) if reader not in reset]
            if left_out:
                raise StateError(
                    "FULL_REFRESH_BREAKS_READERS",
                    location=self.graph.tables[identifier].location,
                    dataset=str(identifier),
                    name=identifier,
                    readers=", ".join(map(str, left_out)),
                    command=self.safe_command(reset),
                )

    def _streaming_readers(self, identifier: Identifier) -> Iterator[Identifier]:
        """The existing tables and sinks with a flow that reads `identifier` as a stream, also through views."""
        for target in (*self.graph.order, *self.graph.sinks):
            if target in self.graph.views or target == identifier or not self.exists(target):
                continue
            inputs = (read for flow in self.graph.flows_to(target) for read in self.graph.stored_inputs(flow.inputs))
            if any(read.streaming and read.dataset == identifier for read in inputs):
                yield target

    def safe_command(self, wanted: Iterable[Identifier]) -> str:
        """The full refresh of `wanted` and of all that streams from it, without what must not be emptied."""
        chosen: set[Identifier] = set()
        for identifier in wanted:
            closure = self._closure(identifier)
            if not self.exists(identifier) or all(reset_allowed(self.graph, each) for each in closure):
                chosen |= closure
        ordered = [identifier for identifier in (*self.graph.order, *self.graph.sinks) if identifier in chosen]
        return " ".join(["penstock run", *(f"--full-refresh {shlex.quote(str(each))}" for each in ordered)])

    def _closure(self, identifier: Identifier) -> set[Identifier]:
        found: set[Identifier] = set()
        open_ = [identifier]
        while open_:
            current = open_.pop()
            if current not in found:
                found.add(current)
                open_.extend(self._streaming_readers(current))
        return found

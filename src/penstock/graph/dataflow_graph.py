"""The pipeline as declared: its datasets and flows by name, before any query was analysed. Frozen, no Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeVar

from penstock.graph.elements import AnySink, Dataset, EventHook, Table, TemporaryView, UnresolvedFlow
from penstock.graph.identifier import Identifier

N = TypeVar("N", Dataset, AnySink)


@dataclass(frozen=True, slots=True)
class DataflowGraph:
    """What one load of a pipeline's files declared.

    `declared` and `flows` keep everything in the order of declaration, duplicates included, so that
    rules can name both places; `datasets` is the lookup by name, where the first declaration wins. The
    same goes for `declared_sinks` and `sinks`.
    `refused` names what the files declare but this version does not support (already an error):
    rules and analysis do not report a second time that it is missing. `incomplete` says that a file
    failed to load, so that the absence of a name proves nothing. `catalog` is the pipeline's own.

    Which dataset reads which is known only after analysis: see `ResolvedGraph.upstream`.
    """

    declared: tuple[Dataset, ...]
    flows: tuple[UnresolvedFlow, ...]
    datasets: Mapping[Identifier, Dataset]
    refused: frozenset[Identifier] = frozenset()
    incomplete: bool = False
    declared_sinks: tuple[AnySink, ...] = ()
    sinks: Mapping[Identifier, AnySink] = field(default_factory=lambda: MappingProxyType({}))
    event_hooks: tuple[EventHook, ...] = ()
    catalog: str | None = None

    @classmethod
    def of(
        cls,
        datasets: Iterable[Dataset],
        flows: Iterable[UnresolvedFlow],
        *,
        sinks: Iterable[AnySink] = (),
        event_hooks: Iterable[EventHook] = (),
        refused: Iterable[Identifier] = (),
        incomplete: bool = False,
        catalog: str | None = None,
    ) -> DataflowGraph:
        """Builds the graph; never fails, because `penstock.graph.rules.check` reports what is wrong with it."""
        declared, declared_sinks = tuple(datasets), tuple(sinks)
        return cls(
            declared,
            tuple(flows),
            _first_by_name(declared),
            frozenset(refused),
            incomplete,
            declared_sinks,
            _first_by_name(declared_sinks),
            tuple(event_hooks),
            catalog,
        )

    def extended(self, datasets: Iterable[Dataset], flows: Iterable[UnresolvedFlow]) -> DataflowGraph:
        """Returns this graph with more datasets and flows, which come after those declared."""
        declared = (*self.declared, *datasets)
        return replace(self, declared=declared, flows=(*self.flows, *flows), datasets=_first_by_name(declared))

    @property
    def tables(self) -> tuple[Table, ...]:
        """The stored datasets, each name once, in the order of declaration."""
        return tuple(dataset for dataset in self.datasets.values() if isinstance(dataset, Table))

    @property
    def views(self) -> tuple[TemporaryView, ...]:
        """The views, each name once, in the order of declaration."""
        return tuple(dataset for dataset in self.datasets.values() if isinstance(dataset, TemporaryView))

    def get(self, identifier: Identifier) -> Dataset | None:
        """Returns the dataset of that name in any case of letters, or None."""
        return self.datasets.get(identifier)

    def find(self, name: str, *, default_schema: str) -> Dataset | None:
        """Returns the dataset that `name` (1 to 3 parts, `LIVE.` allowed) stands for, or None.

        Raises:
            DefinitionError: INVALID_DATASET_NAME.
        """
        return self.get(Identifier.parse(name, default_schema=default_schema))

    def flows_to(self, target: Identifier) -> tuple[UnresolvedFlow, ...]:
        """Returns the flows into `target`, in the order of declaration; views have none."""
        return tuple(flow for flow in self.flows if flow.target == target)


def _first_by_name(declared: Iterable[N]) -> Mapping[Identifier, N]:
    found: dict[Identifier, N] = {}
    for each in declared:
        found.setdefault(each.identifier, each)
    return MappingProxyType(found)

"""A valid pipeline as a dev session knows it, and which of its datasets the next one declares alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from penstock.analysis import Resolver
from penstock.config import PipelineConfig
from penstock.declare.code.function_key import function_key
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import Dataset, Table, TemporaryView, UnresolvedFlow
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import ResolvedGraph
from penstock.runtime.dev.results import SampleResult


@dataclass(frozen=True, slots=True)
class PipelineState:
    """A valid pipeline: its analysis, what each dataset is declared as, and its results.

    `edited` are the datasets that were edited since the session began, or read one that was: their rows are those of
    the session. `failed` are those whose query fails with the data of the sample.
    """

    resolver: Resolver
    graph: ResolvedGraph
    keys: Mapping[Identifier, str | None]
    results: dict[Identifier, SampleResult]
    edited: frozenset[Identifier] = frozenset()
    failed: frozenset[Identifier] = frozenset()

    def unchanged(
        self, keys: Mapping[Identifier, str | None], upstream: Callable[[Identifier], Iterable[Identifier]]
    ) -> set[Identifier]:
        """Returns the datasets that are declared as in `keys`, and so is all that they read."""
        found = set[Identifier]()
        for identifier in self.graph.order:
            key = keys.get(identifier)
            same = key is not None and key == self.keys.get(identifier)
            if same and all(each in found for each in upstream(identifier)):
                found.add(identifier)
        return found


def declaration_keys(graph: DataflowGraph, config: PipelineConfig) -> dict[Identifier, str | None]:
    """Returns what each dataset is declared as, without places; None for what cannot be compared."""
    around = [dict(config.configuration), dict(config.spark_conf), dict(config.paths), config.schema]
    return {
        identifier: function_key(around, _declaration(dataset), [_flow(flow) for flow in graph.flows_to(identifier)])
        for identifier, dataset in graph.datasets.items()
    }


def _declaration(dataset: Dataset) -> list[object]:
    rules = [(each.name, str(each.constraint), each.on_violation.value) for each in dataset.expectations]
    common: list[object] = [type(dataset).__name__, dict(dataset.spark_conf), rules]
    if isinstance(dataset, TemporaryView):
        return [*common, dataset.function]
    assert isinstance(dataset, Table)
    return [
        *common,
        str(dataset.schema),
        dict(dataset.table_properties),
        dataset.partition_columns,
        dataset.cluster_by,
        dataset.path,
        str(dataset.row_filter),
        str(dataset.masks),
        str(dataset.output_mode),
        dataset.keys,
        str(dataset.refresh_policy),
    ]


def _flow(flow: UnresolvedFlow) -> list[object]:
    hidden = {"function", "location", "next_snapshot"}
    names = [name for kind in type(flow).__mro__ for name in getattr(kind, "__slots__", ())]
    return [flow.function, getattr(flow, "next_snapshot", None)] + [
        f"{name}={getattr(flow, name)}" for name in names if name not in hidden
    ]

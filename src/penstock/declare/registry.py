"""Where declarations go while a pipeline's files load."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from penstock.declare.databricks_properties import without_databricks_properties
from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import (
    AnySink,
    Dataset,
    EventHook,
    Expectation,
    FlowFunction,
    Table,
    TemporaryView,
    UnresolvedFlow,
)
from penstock.graph.identifier import DefaultSchema, Identifier
from penstock.graph.sql_query import SqlQuery

P = ParamSpec("P")
R = TypeVar("R")


class PipelineRegistry:
    """Collects what a pipeline's files declare, and every error found on the way.

    Nothing here raises for a user's mistake: errors are added, so that all of them are reported together and the rest
    of the file is still read. `root` is the pipeline's directory; locations are shown relative to it.
    `default_schema` is the schema of names without one, and the pipeline's own catalog. `bind` is applied to each
    function of the user's that is called later; the loader passes what makes the pipeline's imports work then.
    `incomplete` is True when something was not read, so that the absence of a name proves nothing.
    """

    def __init__(
        self,
        *,
        root: Path,
        default_schema: str = "default",
        bind: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None,
    ) -> None:
        self.root = root
        catalog = default_schema.catalog if isinstance(default_schema, DefaultSchema) else None
        self.default_schema = DefaultSchema(default_schema, catalog)
        self._bind = bind
        self._datasets: list[Dataset] = []
        self._flows: list[UnresolvedFlow] = []
        self._sinks: list[AnySink] = []
        self._event_hooks: list[EventHook] = []
        self._errors: list[PenstockError] = []
        self._notices: list[PenstockError] = []
        self._refused: set[Identifier] = set()
        # By identity: an expectation can hold a Spark Column, which cannot be compared.
        self._unclaimed: dict[int, tuple[Expectation, str]] = {}
        self.incomplete = False

    @property
    def datasets(self) -> tuple[Dataset, ...]:
        """Every declared dataset in the order of declaration, duplicates included."""
        return tuple(self._datasets)

    @property
    def flows(self) -> tuple[UnresolvedFlow, ...]:
        """Every declared flow in the order of declaration, duplicates included."""
        return tuple(self._flows)

    @property
    def errors(self) -> tuple[PenstockError, ...]:
        """The errors found while loading, in the order of their discovery."""
        return tuple(self._errors)

    @property
    def notices(self) -> tuple[PenstockError, ...]:
        """What the user should know, although the pipeline runs."""
        return tuple(self._notices)

    def graph(self) -> DataflowGraph:
        """Returns the graph of what was declared; check it with `penstock.graph.rules.check`."""
        return DataflowGraph.of(
            self._datasets,
            self._flows,
            sinks=self._sinks,
            event_hooks=self._event_hooks,
            refused=self._refused,
            incomplete=self.incomplete,
            catalog=self.default_schema.catalog,
        )

    def add_dataset(self, dataset: Dataset) -> int:
        """Adds a dataset and returns the number of the declaration."""
        if isinstance(dataset, Table):
            dataset, notices = without_databricks_properties(dataset)
            for notice in notices:
                self.add_notice(notice)
        self._datasets.append(dataset)
        return len(self._datasets) - 1

    def add_flow(self, flow: UnresolvedFlow) -> None:
        """Adds a flow."""
        self._flows.append(flow)

    def add_sink(self, sink: AnySink) -> None:
        """Adds a sink."""
        self._sinks.append(sink)

    def add_event_hook(self, hook: EventHook) -> None:
        """Adds an event hook."""
        self._event_hooks.append(hook)

    def add_expectations(self, declaration: int, expectations: Sequence[Expectation]) -> None:
        """Puts expectations before those that the declaration already has."""
        dataset = self._datasets[declaration]
        self._datasets[declaration] = dataclasses.replace(dataset, expectations=(*expectations, *dataset.expectations))

    def expect_claim(self, expectations: Sequence[Expectation], function: str) -> None:
        """Notes expectations that wait for a table or view decorator."""
        self._unclaimed.update({id(expectation): (expectation, function) for expectation in expectations})

    def claim(self, expectations: Sequence[Expectation]) -> None:
        """Notes that a declaration has taken these expectations."""
        for expectation in expectations:
            self._unclaimed.pop(id(expectation), None)

    def add_error(self, error: PenstockError) -> None:
        """Adds an error; one that says the same about the same place counts once."""
        _add(self._errors, error)

    def add_notice(self, notice: PenstockError) -> None:
        """Adds a notice; one that says the same about the same place counts once."""
        _add(self._notices, notice)

    def refuse(self, identifier: Identifier) -> None:
        """Notes a dataset whose definition was refused."""
        self._refused.add(identifier)

    def bound(self, function: Callable[P, R]) -> Callable[P, R]:
        """Returns `function` bound to the pipeline's imports."""
        return function if self._bind is None else self._bind(function)

    def finish(self) -> None:
        """Reports what was begun and never completed; the loader calls it once, after the last file."""
        self._settle_catalog()
        for expectation, function in self._unclaimed.values():
            self.add_error(
                DefinitionError(
                    "EXPECTATION_WITHOUT_DATASET",
                    location=expectation.location,
                    expectation=expectation.name,
                    function=function,
                )
            )
        self._unclaimed.clear()

    def _settle_catalog(self) -> None:
        """Leaves the pipeline's own catalog out of all names, and every catalog out of those of sinks.

        Without a configured catalog it is the one that datasets are declared with; of several one must be chosen.
        """
        own = self.default_schema.catalog or self._only_catalog()
        self.default_schema = DefaultSchema(self.default_schema, own)
        self._refused = {each.within(own) for each in self._refused}
        self._datasets = [_dataset_within(each, own) for each in self._datasets]
        datasets = {each.identifier for each in self._datasets}
        targets = {
            each.identifier.within(own): Identifier(each.identifier.schema, each.identifier.name)
            for each in self._sinks
            if each.identifier.within(own) not in datasets
        }
        self._sinks = [
            dataclasses.replace(each, identifier=Identifier(each.identifier.schema, each.identifier.name))
            for each in self._sinks
        ]
        self._flows = [
            dataclasses.replace(
                flow,
                target=targets.get(flow.target.within(own), flow.target.within(own)),
                function=_within(flow.function, own),
            )
            for flow in self._flows
        ]

    def _only_catalog(self) -> str | None:
        first: Dataset | None = None
        for dataset in self._datasets:
            catalog = dataset.identifier.catalog
            if catalog is None:
                continue
            first = first or dataset
            if catalog.casefold() != str(first.identifier.catalog).casefold():
                self.add_error(_catalog_not_chosen(dataset, first))
                return None
        return None if first is None else first.identifier.catalog


registration_context: ContextVar[PipelineRegistry | None] = ContextVar("registration_context", default=None)
"""The pipeline that is being loaded in this context, or None."""


def active_registry(name: str) -> PipelineRegistry:
    """Returns the registry of the load in progress.

    Args:
        name: What the user called, for the error.

    Raises:
        DefinitionError: DECLARED_OUTSIDE_PIPELINE.
    """
    registry = registration_context.get()
    if registry is None:
        raise DefinitionError("DECLARED_OUTSIDE_PIPELINE", name=name)
    return registry


def _dataset_within(dataset: Dataset, catalog: str | None) -> Dataset:
    named = dataclasses.replace(dataset, identifier=dataset.identifier.within(catalog))
    if isinstance(named, TemporaryView):
        return dataclasses.replace(named, function=_within(named.function, catalog))
    return named


def _within(function: FlowFunction, catalog: str | None) -> FlowFunction:
    """Forgets what USE CATALOG said to a query when it is the pipeline's own catalog."""
    if isinstance(function, SqlQuery) and (function.catalog or "").casefold() == (catalog or "").casefold():
        return dataclasses.replace(function, catalog=None)
    return function


def _catalog_not_chosen(dataset: Dataset, first: Dataset) -> DefinitionError:
    return DefinitionError(
        "CATALOG_NOT_CHOSEN",
        location=dataset.location,
        dataset=str(dataset.identifier),
        name=dataset.identifier,
        catalog=dataset.identifier.catalog,
        other=first.identifier,
        first=first.identifier.catalog,
    )


def _add(errors: list[PenstockError], error: PenstockError) -> None:
    if all(_said(error) != _said(known) for known in errors):
        errors.append(error)


def _said(error: PenstockError) -> tuple[object, ...]:
    return error.condition, error.location, error.dataset, tuple(error.facts.items())

"""Statements as elements of the graph: the same that the Python decorators make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.declare.registry import PipelineRegistry
from penstock.declare.sql.statements import (
    ChangeClauses,
    CreateChangeFlow,
    CreateFlow,
    CreateTable,
    CreateView,
    TableKind,
)
from penstock.errors import DefinitionError, SourceLocation
from penstock.graph.elements import ChangeFlow, MaterializedView, StreamingTable, TemporaryView, UnresolvedFlow
from penstock.graph.identifier import Identifier
from penstock.graph.sql.placed_text import PlacedText
from penstock.graph.sql_query import SqlQuery

_KINDS = {TableKind.STREAMING_TABLE: StreamingTable, TableKind.MATERIALIZED_VIEW: MaterializedView}


@dataclass(frozen=True, slots=True)
class SqlDeclarations:
    """Adds what a statement declares to the registry.

    `schema` and `catalog` are what USE said, None for the pipeline's; `settings` are those of SET, for the flows.
    """

    registry: PipelineRegistry
    session: Any
    schema: str | None
    catalog: str | None
    settings: Mapping[str, str]

    def table(self, statement: CreateTable) -> None:
        """Adds a table, and the flow of its query.

        Raises:
            DefinitionError: INVALID_DATASET_NAME; what is not supported.
        """
        identifier = self._identifier(statement.name)
        if statement.replaces is not None:
            name = str(identifier)
            notice = DefinitionError("OR_REPLACE_IS_REFRESH", location=statement.replaces, dataset=name, name=name)
            self.registry.add_notice(notice)
        self.registry.add_dataset(
            _KINDS[statement.kind](
                identifier=identifier,
                location=statement.location,
                spark_conf=self.settings,
                expectations=statement.columns.expectations,
                schema=statement.columns.schema,
                masks=statement.columns.masks,
                temporary=statement.private,
                **statement.clauses,
            )
        )
        if statement.query is not None:
            self._add_flow(UnresolvedFlow, identifier.name, identifier, statement.query, statement.location)
        if statement.changes is not None:
            self._add_change_flow(None, identifier, statement.changes, statement.location)

    def view(self, statement: CreateView) -> None:
        """Adds a view. It is known by its bare name, whatever USE said, as temporary views are."""
        self.registry.add_dataset(
            TemporaryView(
                identifier=Identifier.parse(statement.name, default_schema=self.registry.default_schema),
                location=statement.location,
                comment=statement.comment,
                spark_conf=self.settings,
                expectations=statement.expectations,
                function=SqlQuery(statement.query, self.session, self.schema, self.catalog),
            )
        )

    def flow(self, statement: CreateFlow) -> None:
        """Adds a flow into a streaming table that is declared somewhere in the pipeline."""
        self._add_flow(
            UnresolvedFlow,
            statement.name,
            self._identifier(statement.target),
            statement.query,
            statement.location,
            comment=statement.comment,
            once=statement.once,
        )

    def change_flow(self, statement: CreateChangeFlow) -> None:
        """Adds a flow of change events, as `create_auto_cdc_flow` does."""
        target = self._identifier(statement.target)
        self._add_change_flow(statement.name, target, statement.changes, statement.location, comment=statement.comment)

    def _add_change_flow(
        self, name: str | None, target: Identifier, changes: ChangeClauses, location: SourceLocation, **options: Any
    ) -> None:
        options = {**options, "once": changes.once, **changes.options}
        self._add_flow(ChangeFlow, name or target.name, target, changes.source, location, **options)

    def _add_flow(
        self,
        kind: type[UnresolvedFlow],
        name: str,
        target: Identifier,
        query: PlacedText,
        location: SourceLocation,
        **options: Any,
    ) -> None:
        function = SqlQuery(query, self.session, self.schema, self.catalog)
        options = {"spark_conf": self.settings, **options}
        self.registry.add_flow(kind(name=name, target=target, function=function, location=location, **options))

    def _identifier(self, name: str) -> Identifier:
        default_schema = self.registry.default_schema.using(self.schema, self.catalog)
        return Identifier.parse(name, default_schema=default_schema, catalog=self.catalog)

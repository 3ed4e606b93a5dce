"""Loads SQL text into a pipeline: split, parameters put in, parsed, declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from penstock.declare.registry import PipelineRegistry, active_registry
from penstock.declare.sql.declarations import SqlDeclarations
from penstock.declare.sql.parser import parse
from penstock.declare.sql.splitter import split, substitute
from penstock.declare.sql.statements import (
    CreateChangeFlow,
    CreateFlow,
    CreateTable,
    CreateView,
    SetParameter,
    Statement,
    UseSchema,
    WithoutEffect,
)
from penstock.errors import DefinitionError
from penstock.graph.identifier import Identifier
from penstock.graph.sql.placed_text import PlacedText

# What SET gives to the flows behind it; other keys are parameters of the file only.
_SETTINGS = ("spark.", "pipelines.")


class SqlScript:
    """The SQL of one file, or of one notebook and what it runs: SET and USE hold for what follows in it.

    Nothing here raises for a user's mistake: errors go to the registry, and the next statement is read.
    """

    def __init__(self, session: Any) -> None:
        """`session` (a SparkSession or GraphOnlySession) runs the queries; its `conf` answers `${key}`."""
        self._session = session
        self._parameters: dict[str, str] = {}
        self._schema: str | None = None
        self._catalog: str | None = None

    def load(self, text: str, path: str, *, first_line: int = 1, margin: int = 0) -> None:
        """Declares what the statements of a file or cell say.

        Args:
            text: Statements, separated by `;` or by the cell marks of a notebook export.
            path: The file that holds the text, as errors show it.
            first_line: The line of the file at which the text begins.
            margin: How many characters were taken away from the beginning of each line.

        Raises:
            DefinitionError: DECLARED_OUTSIDE_PIPELINE.
        """
        registry = active_registry(path)
        for raw in split(PlacedText.of(text, path, line=first_line, margin=margin)):
            try:
                self._declare(parse(substitute(raw, self._value)), registry)
            except DefinitionError as error:
                self._refused(error, raw, registry)

    def _declare(self, statement: Statement, registry: PipelineRegistry) -> None:
        declarations = SqlDeclarations(registry, self._session, self._schema, self._catalog, self._settings)
        match statement:
            case CreateTable():
                declarations.table(statement)
            case CreateView():
                declarations.view(statement)
            case CreateFlow():
                declarations.flow(statement)
            case CreateChangeFlow():
                declarations.change_flow(statement)
            case SetParameter(key, value):
                if value is not None:
                    self._parameters[key] = value
            case UseSchema(schema, catalog):
                self._schema = schema or self._schema
                self._catalog = catalog or self._catalog
            case WithoutEffect():
                pass
            case _:
                assert_never(statement)

    @property
    def _settings(self) -> Mapping[str, str]:
        """What SET said so far, for Spark and for Penstock; a quoted interval is the interval."""
        return {
            key: value.strip("'\"") if key.startswith("pipelines.") else value
            for key, value in self._parameters.items()
            if key.startswith(_SETTINGS)
        }

    def _value(self, key: str) -> str | None:
        if key in self._parameters:
            return self._parameters[key]
        value = self._session.conf.get(key, None)
        return None if value is None else str(value)

    def _refused(self, error: DefinitionError, statement: PlacedText, registry: PipelineRegistry) -> None:
        error.location = error.location or statement.location(0)
        error.dataset = error.dataset or _declared_name(statement)
        if error.dataset is None:
            # What it would have declared is not known: no other name can be called missing.
            registry.incomplete = True
        else:
            identifier = self._identifier(error.dataset, registry)
            if identifier is not None:
                registry.refuse(identifier)
                error.dataset = str(identifier)
        registry.add_error(error)

    def _identifier(self, name: str, registry: PipelineRegistry) -> Identifier | None:
        default_schema = registry.default_schema.using(self._schema, self._catalog)
        try:
            return Identifier.parse(name, default_schema=default_schema, catalog=self._catalog)
        except DefinitionError:
            return None


def _declared_name(raw: PlacedText) -> str | None:
    """Returns the name of a statement whose parameters cannot be put in, or None."""
    try:
        statement = parse(raw)
    except DefinitionError as error:
        return error.dataset
    return statement.name if isinstance(statement, (CreateTable, CreateView)) else None

"""The tables that the SQL endpoint serves: their names and columns for clients' lists, and their rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from penstock.errors import first_line
from penstock.graph.identifier import Identifier
from penstock.graph.protection import PRIVATE
from penstock.graph.sql.names import quoted
from penstock.runtime.commands.query import for_readers
from penstock.runtime.project.workspace import Workspace, say_nothing
from penstock.runtime.storage_state.catalog import stored_table
from penstock.runtime.storage_state.state import table_names
from penstock.spark.sql.membership import define_membership
from penstock.storage import StoredFile
from penstock.storage.delta.table import newest_commit, table_properties

_DEFAULT: Final = "default"
"""The schema that Spark's catalog always has."""


@dataclass(slots=True)
class ServedTables:
    """The tables of a storage, and those with a path `elsewhere`; private ones and other catalogs' are not served.

    Spark's catalog gets an empty table for each, which clients see in their lists; `open` gives the rows. So what is
    not opened by name here has no rows anywhere.
    """

    workspace: Workspace
    elsewhere: Callable[[], Mapping[Identifier, str]]
    report: Callable[[str], None]
    _elsewhere: Mapping[Identifier, str] = field(default_factory=dict)
    _listed: dict[tuple[str, str], StructType] = field(default_factory=dict)
    _commits: dict[tuple[str, str], StoredFile | None] = field(default_factory=dict)
    """The newest commit of each table when its columns were read."""
    _defining: threading.Lock = field(default_factory=threading.Lock)
    _functions_defined: bool = False
    _roles: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def names(self) -> list[str]:
        """Returns the names of the tables in clients' lists."""
        return sorted(f"{schema}.{name}" for schema, name in self._listed)

    def identifiers(self) -> list[Identifier]:
        """Returns the tables in clients' lists."""
        return [Identifier(schema, name) for schema, name in self._listed]

    def open(self, schema: str, name: str) -> DataFrame | None:
        """Returns what readers see of a table's newest version, None if there is none to serve.

        Raises:
            StateError: TABLE_PROTECTION_FAILED.
        """
        identifier = Identifier(schema, name)
        path = self._place(identifier)
        if path is None:
            return None
        frame = self.workspace.spark.read.format("delta").load(path)
        properties = table_properties(path)  # after the version is fixed: a filter that is new by then applies
        if properties.get(PRIVATE) == "true":
            return None
        return for_readers(frame, identifier, properties, self._define_functions)

    def use_roles(self, roles: Mapping[str, frozenset[str]]) -> None:
        """Lets `is_member` of filters and masks know these roles from the next query on."""
        with self._defining:
            if roles != self._roles:
                self._roles = roles
                define_membership(self.workspace.spark, roles)

    def refresh(self) -> None:
        """Has Spark's catalog list the tables and columns of now; one that cannot be read is reported and left out."""
        self._elsewhere = self.elsewhere()
        current: dict[tuple[str, str], StructType] = {}
        for identifier in {*table_names(self.workspace.layout), *self._elsewhere}:
            if identifier.catalog is not None:
                continue
            key = (identifier.schema.casefold(), identifier.name.casefold())
            try:
                path = self._place(identifier)
                commit = None if path is None else newest_commit(path)
                if commit is not None and commit == self._commits.get(key):
                    current |= {key: self._listed[key]} if key in self._listed else {}
                    continue
                frame = self.open(*key)
            except Exception as error:  # noqa: BLE001 - whatever is wrong with one table, the others are served
                self.report(f"{identifier} is not listed: {first_line(error)}")
                continue
            self._commits[key] = commit
            if frame is not None:
                current[key] = frame.schema
        for key in self._listed.keys() - current.keys():
            self._drop(key)
        for key, schema in current.items():
            if self._listed.get(key) != schema:
                if key in self._listed:
                    self._drop(key)
                self._create(key, schema)

    def _place(self, identifier: Identifier) -> str | None:
        return self._elsewhere.get(identifier) or stored_table(self.workspace.layout, identifier)

    def _create(self, key: tuple[str, str], schema: StructType) -> None:
        spark = self.workspace.spark
        if key[0] != _DEFAULT:
            spark.sql(f"CREATE DATABASE IF NOT EXISTS {quoted(key[0])}")
        spark.catalog.createTable(".".join(map(quoted, key)), source="parquet", schema=schema)
        self._listed[key] = schema

    def _drop(self, key: tuple[str, str]) -> None:
        self.workspace.spark.sql(f"DROP TABLE IF EXISTS {'.'.join(map(quoted, key))}")
        del self._listed[key]

    def _define_functions(self) -> None:
        with self._defining:
            if not self._functions_defined:
                self.workspace.define_functions(say_nothing)
                define_membership(self.workspace.spark, self._roles)
                self._functions_defined = True

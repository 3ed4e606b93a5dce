"""Reads while flows run: the stored tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from penstock.analysis import accepts_rewrites, check_view_read
from penstock.errors import DefinitionError
from penstock.graph.companions.quarantine import owner_of, quarantine_of, quarantine_path
from penstock.graph.companions.quarantining import has_quarantine
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import Input, ResolvedGraph
from penstock.runtime.storage_state.first_read import FROM_THE_FIRST_VERSION, reads_from_the_first_version
from penstock.runtime.storage_state.state import is_private
from penstock.spark.evaluation import Evaluation
from penstock.storage import Storage, StorageLayout


@dataclass(frozen=True, slots=True)
class StoredCatalog:
    """Answers reads with the tables as they are now; `paths` says where the pipeline's tables lie."""

    graph: ResolvedGraph
    paths: Mapping[Identifier, str]
    layout: StorageLayout
    default_schema: str

    def find(self, name: str) -> Identifier | None:
        """Returns the pipeline's dataset of that name, or a table's quarantine."""
        identifier = Identifier.parse(name, default_schema=self.default_schema)
        if identifier in self.graph.tables or identifier in self.graph.views:
            return identifier
        owner = self._owner(identifier)
        return None if owner is None else quarantine_of(owner)

    def is_view(self, name: str) -> bool:
        """Whether the pipeline declares a view of that name."""
        return Identifier.parse(name, default_schema=self.default_schema) in self.graph.views

    def stored(self, name: str) -> str | None:
        """Returns the path of a table of the storage that the pipeline does not declare."""
        return stored_table(self.layout, Identifier.parse(name, default_schema=self.default_schema))

    def open(
        self, identifier: Identifier, evaluation: Evaluation, *, streaming: bool, options: Mapping[str, str]
    ) -> DataFrame:
        """Returns the stored table, the quarantine of one, or the inlined view."""
        if identifier in self.graph.views:
            resolved = self.graph.views[identifier]
            check_view_read(identifier, view_streaming=resolved.streaming, read_streaming=streaming)
            return evaluation.inline(resolved.view, resolved.view.function)
        owner = self._owner(identifier)
        read, from_quarantine = (identifier, False) if owner is None else (owner, True)
        path = quarantine_path(self.paths[read]) if from_quarantine else self.paths[read]
        spark = evaluation.spark
        if not streaming:
            evaluation.note(Input("delta", str(identifier), streaming, dataset=read, from_quarantine=from_quarantine))
            return spark.read.format("delta").options(**options).load(path)
        name = evaluation.table_source_name(identifier)
        evaluation.note(
            Input("delta", str(identifier), streaming, dataset=read, name=name, from_quarantine=from_quarantine)
        )
        if from_quarantine and not accepts_rewrites(options):
            # Rows are repaired there, and leave when they are replayed: neither is new to who reads what arrives.
            options = {**options, "skipChangeCommits": "true"}
        if evaluation.checkpoint and reads_from_the_first_version(evaluation.checkpoint, name, path, options):
            options = {**options, **FROM_THE_FIRST_VERSION}
        return spark.readStream.format("delta").options(**options).name(name).load(path)

    def _owner(self, identifier: Identifier) -> Identifier | None:
        """Returns the table whose quarantine `identifier` is; a table of that name is the quarantine of a view."""
        owner = owner_of(identifier)
        table = None if owner is None or identifier in self.graph.tables else self.graph.tables.get(owner)
        return table.identifier if table is not None and has_quarantine(table) else None


def stored_table(layout: StorageLayout, identifier: Identifier) -> str | None:
    """Returns where the storage keeps a Delta table of that name, or None."""
    path = layout.table(identifier)
    return path if Storage(layout.uri).exists(f"{path}/_delta_log") else None


def published_table(layout: StorageLayout, identifier: Identifier) -> str | None:
    """As `stored_table`, for a table that the pipeline does not declare itself.

    Raises:
        DefinitionError: TABLE_IS_PRIVATE.
    """
    path = stored_table(layout, identifier)
    if path is not None and is_private(path):
        raise DefinitionError("TABLE_IS_PRIVATE", name=identifier)
    return path


def module_catalog(layout: StorageLayout, default_schema: str) -> StoredCatalog:
    """Answers the reads of module-level code with what earlier runs stored: it knows no dataset of the pipeline yet."""
    return StoredCatalog(ResolvedGraph({}, {}, (), (), {}), {}, layout, default_schema)

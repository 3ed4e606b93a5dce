"""Reads while flows run: the stored tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from penstock.analysis import check_view_read
from penstock.errors import DefinitionError
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import Input, ResolvedGraph
from penstock.runtime.state import is_private
from penstock.spark.evaluation import Evaluation
from penstock.spark.read_hooks import handling_reads
from penstock.storage import Storage, StorageLayout


@dataclass(frozen=True, slots=True)
class StoredCatalog:
    """Answers reads with the tables as they are now; `paths` says where the pipeline's tables lie."""

    graph: ResolvedGraph
    paths: Mapping[Identifier, str]
    layout: StorageLayout
    default_schema: str

    def find(self, name: str) -> Identifier | None:
        """Returns the pipeline's dataset of that name."""
        identifier = Identifier.parse(name, default_schema=self.default_schema)
        return identifier if identifier in self.graph.tables or identifier in self.graph.views else None

    def stored(self, name: str) -> str | None:
        """Returns the path of a table of the storage that the pipeline does not declare."""
        return stored_table(self.layout, Identifier.parse(name, default_schema=self.default_schema))

    def open(
        self, identifier: Identifier, evaluation: Evaluation, *, streaming: bool, options: Mapping[str, str]
    ) -> DataFrame:
        """Returns the stored table, or the inlined view."""
        if identifier in self.graph.views:
            resolved = self.graph.views[identifier]
            check_view_read(identifier, view_streaming=resolved.streaming, read_streaming=streaming)
            return evaluation.inline(resolved.view, resolved.view.function)
        spark, path = evaluation.spark, self.paths[identifier]
        with handling_reads(None):
            if not streaming:
                evaluation.note(Input("delta", str(identifier), streaming, dataset=identifier))
                return spark.read.format("delta").options(**options).load(path)
            name = evaluation.source_name(identifier.name)
            evaluation.note(Input("delta", str(identifier), streaming, dataset=identifier, name=name))
            return spark.readStream.format("delta").options(**options).name(name).load(path)


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

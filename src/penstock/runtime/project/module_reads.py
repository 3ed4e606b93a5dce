"""Reads by name while a pipeline's files load: no dataset exists yet, but the storage's tables do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from penstock.errors import InternalError
from penstock.graph.identifier import Identifier
from penstock.runtime.storage_state.catalog import stored_table
from penstock.spark.evaluation import Evaluation
from penstock.storage import StorageLayout


@dataclass(frozen=True, slots=True)
class ModuleCatalog:
    """Answers the reads of module-level code with what earlier runs stored."""

    layout: StorageLayout
    default_schema: str

    def find(self, name: str) -> Identifier | None:
        """Knows no dataset of the pipeline."""
        return None

    def stored(self, name: str) -> str | None:
        """Returns the path of a table of the storage."""
        return stored_table(self.layout, Identifier.parse(name, default_schema=self.default_schema))

    def open(
        self, identifier: Identifier, evaluation: Evaluation, *, streaming: bool, options: Mapping[str, str]
    ) -> DataFrame:
        """Never called, because `find` finds nothing."""
        raise InternalError("FLOW_CRASHED", error=f"{identifier} was opened while files load")

"""Reads of a dev session: what the session has computed, else the pipeline's tables as they are, both bounded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.errors import DefinitionError
from penstock.graph.companions.quarantine import quarantine_path
from penstock.graph.identifier import Identifier
from penstock.graph.protection import stored_protection
from penstock.graph.resolved import Input
from penstock.runtime.dev.results import SampleResult
from penstock.runtime.storage_state.catalog import StoredCatalog
from penstock.spark.evaluation import Evaluation
from penstock.storage.delta.table import is_delta_table, table_properties

_CHANGE_FEED = frozenset({"readchangefeed", "readchangedata"})


@dataclass(frozen=True, slots=True)
class SampleCatalog(StoredCatalog):
    """Answers the reads of one dataset.

    `results` are those of the datasets that come before it. A table that is in the storage is read there, unless it is
    one of `edited`. `check` raises unless the user may read a table of the storage; `stored_reads` gets each that was
    read, with its path.
    """

    results: Mapping[Identifier, SampleResult] = field(default_factory=dict)
    edited: Set[Identifier] = frozenset()
    sample: Callable[[DataFrame], DataFrame] = lambda frame: frame
    check: Callable[[Identifier], None] = lambda _: None
    stored_reads: dict[Identifier, str] = field(default_factory=dict)

    def stored(self, name: str) -> str | None:
        """Returns the path of a table of the storage that the pipeline does not declare."""
        path = StoredCatalog.stored(self, name)
        if path is not None:
            self._note_stored(Identifier.parse(name, default_schema=self.default_schema), path)
        return path

    def is_private(self) -> bool:
        """Whether a row filter or masks protect a table of the storage that was read."""
        try:
            return any(stored_protection(table_properties(path)) is not None for path in self.stored_reads.values())
        except ValueError:  # what cannot be read is not shown
            return True

    def open(
        self, identifier: Identifier, evaluation: Evaluation, *, streaming: bool, options: Mapping[str, str]
    ) -> DataFrame:
        """Returns the sample of a dataset.

        Raises:
            DefinitionError: BATCH_NOT_POSSIBLE for the quarantine of a table that no run has filled.
        """
        assert not streaming, "a sample is a batch"
        owner = self._owner(identifier)
        path = self.paths.get(identifier) if owner is None else quarantine_path(self.paths[owner])
        if path is not None and identifier not in self.edited and is_delta_table(path):
            self._note_stored(identifier, path)
            evaluation.note(Input("delta", str(identifier), streaming=False, dataset=owner or identifier))
            return self.sample(evaluation.spark.read.format("delta").options(**options).load(path))
        if identifier not in self.results:
            reason = f"it reads {identifier}, of which this session has no rows"
            raise DefinitionError("BATCH_NOT_POSSIBLE", reason=reason, way_out="Run the pipeline once")
        evaluation.note(Input("delta", str(identifier), streaming=False, dataset=identifier))
        frame = self.results[identifier].frame
        if any(name.casefold() in _CHANGE_FEED and value.casefold() == "true" for name, value in options.items()):
            return frame.withColumns(
                {
                    "_change_type": sf.lit("insert"),
                    "_commit_version": sf.lit(0).cast("bigint"),
                    "_commit_timestamp": sf.current_timestamp(),
                }
            )
        return frame.toDF(*frame.columns)  # columns of their own, so that a query can join it with itself

    def _note_stored(self, table: Identifier, path: str) -> None:
        self.check(table)
        self.stored_reads[table] = path

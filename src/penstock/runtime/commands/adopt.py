"""Takes over a Delta table that a plain streaming query has written, and how far that query has read.

The pipeline's flow gets the query's checkpoint, under the same query id: a batch that the query has planned and not
committed runs again with its number, and Delta leaves it out if the table has it already.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from pyspark.sql import SparkSession

from penstock.config import PipelineConfig
from penstock.errors import ConfigError, StateError
from penstock.graph.elements import OutputMode
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import Input, ResolvedFlow
from penstock.plan.selection import RefreshSelection
from penstock.plan.stages import AlterTable
from penstock.plan.state import GENERATION
from penstock.runtime.commands.adopted_clones import Clone, places_elsewhere, replaced_by
from penstock.runtime.commands.adopted_state import Adoption, StateDoesNotFit, StateProof, prove_state, state_mismatch
from penstock.runtime.project.watched_workspace import watched_workspace
from penstock.runtime.project.workspace import Progress
from penstock.runtime.storage_state.stream_notes import FlowOwner, note_stream
from penstock.storage import Storage
from penstock.storage.checkpoint.folder import CheckpointFolder, numbers_in
from penstock.storage.checkpoint.foreign import (
    ForeignSource,
    SourceKind,
    UnreadableCheckpoint,
    copy_with_names,
    decoded_path,
    foreign_sources,
)
from penstock.storage.checkpoint.staging import StagedCheckpoint
from penstock.storage.delta.table import added_files, is_delta_table, open_delta_table, readable

_WARM_UP = "To be exact from a point in time on, begin anew behind it: see 'Warm-up' in docs/how-to/adopt.md"


class Adopter:
    """Adopts checkpoints for the datasets of one pipeline. Needs Spark, which analyses the pipeline's queries."""

    def __init__(self, config: PipelineConfig, progress: Progress, *, spark: SparkSession | None = None) -> None:
        """Raises what keeps the pipeline from being valid; starts Spark, unless the caller has a session."""
        self._config = config
        with watched_workspace(config, progress, spark=spark) as self._workspace:
            self._graph = self._workspace.resolve(progress)
        self._paths = self._workspace.paths(self._graph)
        self._storage = Storage(config.storage)

    def plan(self, name: str, checkpoint: str, flow: str | None = None) -> Adoption:
        """Says what `adopt` would do, without writing anything.

        Raises:
            ConfigError: ADOPT_DATASET_UNKNOWN, ADOPT_CHECKPOINT_NOT_FOUND, ADOPT_TABLE_NOT_FOUND.
            StateError: ADOPT_CHECKPOINT_UNREADABLE, ADOPT_NOT_EXACT, ADOPT_TARGET_TAKEN; whatever keeps the table from
                being written by the flow, as `COLUMN_TYPE_CHANGED`.
        """
        dataset, declared = self._flow(name, flow)
        path = self._paths[dataset]
        folder = CheckpointFolder.open(checkpoint)
        query_id = folder.known_query_id()
        if query_id is None or folder.planned is None:
            raise ConfigError("ADOPT_CHECKPOINT_NOT_FOUND", dataset=str(dataset), path=folder.uri)
        if not is_delta_table(path):
            raise ConfigError(
                "ADOPT_TABLE_NOT_FOUND", location=declared.declaration.location, dataset=str(dataset), path=path
            )
        with readable(str(dataset)):
            table = open_delta_table(path)
            stored, version = table.transaction_version(query_id), table.version()
            generation = int(table.metadata().configuration.get(GENERATION, "0"))
            files, elsewhere = added_files(table).num_rows, places_elsewhere(table)
            replaced = replaced_by(path, version, query_id)
        reason = replaced if isinstance(replaced, str) else None
        if isinstance(replaced, Clone):
            stored = replaced.batch_of(query_id)
            reason = replaced.reason(folder, stored)
        if (reason := reason or _reason(declared, folder, stored, files)) is not None:
            raise _inexact(dataset, folder, reason)
        checkpoints = self._workspace.layout.checkpoints(dataset, declared.declaration.name)
        if numbers_in(self._storage, checkpoints):
            raise StateError("ADOPT_TARGET_TAKEN", dataset=str(dataset), name=dataset, path=checkpoints)
        if (other := self._owner_of(query_id)) is not None:
            raise _inexact(dataset, folder, f"the flow into {other} has taken it over already")
        try:
            sources = tuple(self._matched(dataset, declared, folder))
        except UnreadableCheckpoint as unreadable:
            raise _unreadable(dataset, folder, unreadable) from None
        steps = tuple(self._changes(dataset))
        place = self._workspace.layout.checkpoint(dataset, declared.declaration.name, generation)
        return Adoption(
            dataset, declared, path, version, files, query_id, folder.committed, folder.in_flight, sources, steps,
            folder, place, elsewhere,
        )  # fmt: skip

    def prove(self, adoption: Adoption, progress: Progress) -> StateProof | None:
        """Runs a batch of the query again from the state that it began with; None where there is none to try.

        Takes no lock, and changes neither the table nor the checkpoints; the query may go on meanwhile.

        Raises:
            StateError: ADOPT_NOT_EXACT: the batch fails, gives other rows, or leaves another state.
        """
        try:
            return prove_state(self._workspace, self._graph, adoption, progress)
        except StateDoesNotFit as unfit:
            raise _inexact(adoption.dataset, adoption.folder, str(unfit)) from unfit.__cause__

    def adopt(self, adoption: Adoption) -> None:
        """Copies the checkpoint. The caller holds the storage's lock, and has planned `adoption` under it.

        A process that dies leaves the flow without a checkpoint, or with the whole one. The query's own is not changed.

        Raises:
            StateError: ADOPT_NOT_EXACT, of a checkpoint that changes meanwhile.
        """
        declared = adoption.flow.declaration
        assert adoption.flow.stream is not None
        owner = FlowOwner(self._config.name, adoption.dataset.dotted, declared.name)
        staged = StagedCheckpoint.begin(self._storage, adoption.place)
        try:
            names = {source.name: name for source, name in adoption.sources}
            copy_with_names(adoption.folder, names, staged.storage, staged.uri)
            note_stream(staged.uri, adoption.flow.stream, owner)
            whole = CheckpointFolder.open(adoption.folder.uri).files == adoption.folder.files
        except (UnreadableCheckpoint, FileNotFoundError):
            whole = False
        except BaseException:
            staged.give_up()
            raise
        if not whole:
            staged.give_up()
            raise _inexact(adoption.dataset, adoption.folder, "it changes: the query is still running")
        staged.take_place()

    def _flow(self, name: str, flow: str | None) -> tuple[Identifier, ResolvedFlow]:
        dataset = Identifier.parse(name, default_schema=self._config.schema)
        tables = {dataset} & self._paths.keys()  # a sink has no rows to go on behind
        flows = [each for table in tables for each in self._graph.flows_to(table) if each.stream is not None]
        chosen = [each for each in flows if flow is None or each.declaration.name.casefold() == flow.casefold()]
        if len(chosen) != 1:
            names = ", ".join(each.declaration.name for each in flows) or "none"
            raise ConfigError("ADOPT_DATASET_UNKNOWN", name=dataset, flow=flow or "one", flows=names)
        return dataset, chosen[0]

    def _changes(self, dataset: Identifier) -> Iterator[str]:
        """Yields what the next run does to the table; raises what keeps it from writing there."""
        planned = self._workspace.plan(self._graph, RefreshSelection(refresh=(str(dataset),)))
        for refusal in planned.refusals:
            if refusal.condition != "CHECKPOINT_LOST":  # which is what is brought
                raise refusal
        for stage in planned.stages:
            if isinstance(stage, AlterTable) and stage.dataset == dataset:
                yield stage.explanation

    def _owner_of(self, query_id: str) -> Identifier | None:
        """The other target whose flow goes on under a query's id."""
        for flow in self._graph.flows:
            target, name = flow.declaration.target, flow.declaration.name
            checkpoints = self._workspace.layout.checkpoints(target, name)
            for generation in numbers_in(self._storage, checkpoints):
                if CheckpointFolder.open_first_files(f"{checkpoints}/{generation}").known_query_id() == query_id:
                    return target
        return None

    def _matched(
        self, dataset: Identifier, flow: ResolvedFlow, folder: CheckpointFolder
    ) -> Iterator[tuple[ForeignSource, str]]:
        """Yields each source of the query with the name of the only read of the flow that it can be."""
        reads = self._graph.stored_inputs(flow.inputs)
        left = {read.name: read for read in reads if read.streaming and read.name is not None}
        for source in foreign_sources(folder):
            fitting = [name for name, read in left.items() if self._is(source, read)]
            if len(fitting) != 1:
                others = ", ".join(read.source for read in left.values()) or "nothing else"
                fits = "several of its reads are" if fitting else "none of its reads is"
                reason = f"the query reads {source}; the flow reads {others}, and {fits} that"
                raise _inexact(dataset, folder, reason)
            del left[fitting[0]]
            yield source, fitting[0]

    def _is(self, source: ForeignSource, read: Input) -> bool:
        match source.kind:
            case SourceKind.DELTA:
                return self._table_id(read) in source.places
            case SourceKind.KAFKA:
                topics = frozenset(each.strip() for each in read.description.split(","))
                return read.format == "kafka" and topics == source.places
            case SourceKind.FILES:
                if read.dataset is not None or read.format in {"delta", "kafka"}:
                    return False
                root = self._absolute(read.description)
                return all(_within(place, root) for place in source.places)

    def _table_id(self, read: Input) -> str | None:
        path = self._paths.get(read.dataset) if read.dataset is not None else None
        if path is None and read.format == "delta":
            path = self._absolute(read.description)
        if path is None or not is_delta_table(path):
            return None
        return str(open_delta_table(path).metadata().id)

    def _absolute(self, description: str) -> str:
        place = decoded_path(description)
        return place if "://" in place else os.path.normpath(self._workspace.data / place)


def _reason(flow: ResolvedFlow, folder: CheckpointFolder, stored: int | None, files: int) -> str | None:
    """Returns why the flow could not go on exactly where the query has stopped; None if it can."""
    stream = flow.stream
    if (reason := state_mismatch(flow, folder)) is not None:
        return reason
    if stream is None or stream.output_mode == OutputMode.UPDATE.value or stream.keys is not None:
        return (
            "the flow updates rows, which a plain query does in foreachBatch: the table does not know its batches. "
            f"{_WARM_UP}"
        )
    if stored is None and (folder.committed is not None or files):
        return "the table does not know the query: another one has written it, or foreachBatch"
    planned = -1 if folder.planned is None else folder.planned
    if stored is not None and stored > planned:
        return f"the table has batch {stored} of the query, and the checkpoint ends with {planned}: it is an old copy"
    if folder.committed is not None and stored is not None and stored < folder.committed:
        return f"the table has the query's batches up to {stored} only, and the checkpoint up to {folder.committed}"
    return None


def _within(place: str, root: str) -> bool:
    """Whether a file's folder is that of a read, or below it; a pattern counts as far as it has no wildcard."""
    plain = root.partition("*")[0].partition("{")[0].partition("?")[0].partition("[")[0]
    if plain != root:
        return f"{place}/".startswith(plain) or place.startswith(plain)
    return f"{place}/".startswith(f"{root.rstrip('/')}/")


def _inexact(dataset: Identifier, folder: CheckpointFolder, reason: str) -> StateError:
    return StateError("ADOPT_NOT_EXACT", dataset=str(dataset), name=dataset, path=folder.uri, reason=reason)


def _unreadable(dataset: Identifier, folder: CheckpointFolder, unreadable: UnreadableCheckpoint) -> StateError:
    file = f"{folder.uri}/{unreadable.file}"
    return StateError("ADOPT_CHECKPOINT_UNREADABLE", dataset=str(dataset), file=file, reason=unreadable.reason)

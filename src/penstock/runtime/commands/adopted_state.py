"""The state of a query that is taken over: whether the pipeline's flow goes on with it as the query would have.

Spark finds a state again by the number of its operator and the types of its columns, so another query of the same shape
would take it for its own. What shows that the flow is the same query is what it does: it runs a batch of the query that
has read something again, from the state that this batch began with, and must give the rows that the table has of it,
and leave the state that the query has left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from penstock.errors import PenstockError, first_line
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import ResolvedFlow, ResolvedGraph
from penstock.plan.state import RecordedBatch
from penstock.runtime.commands.batch_replay import replay_in
from penstock.runtime.project.workspace import Progress, Workspace
from penstock.spark.streams.state import compare_state
from penstock.storage import Storage
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.foreign import ForeignSource, UnreadableCheckpoint, copy_with_names
from penstock.storage.checkpoint.logs import DamagedFile, UnknownVersion
from penstock.storage.checkpoint.one_batch import files_after, files_before, repeatable_batches
from penstock.storage.checkpoint.partitions import note_partitions
from penstock.storage.checkpoint.state import missing_state_files, operators, state_partitions
from penstock.storage.delta.commits import commits_of, holds_files_of
from penstock.storage.scratch import scratch_folder

_COMMITS_LOOKED_AT = 100


@dataclass(frozen=True, slots=True)
class Adoption:
    """What an adoption would do; made again, and compared, once the storage is locked.

    `batch` is the newest batch that the query has committed, `in_flight` one that it has planned only. `sources` are
    the query's, each with the name that the pipeline's flow has for it; `steps` what the next run does to the table.
    `elsewhere` are the folders of other tables in which files of a shallow clone lie.
    """

    dataset: Identifier
    flow: ResolvedFlow
    path: str
    version: int
    files: int
    query_id: str
    batch: int | None
    in_flight: int | None
    sources: tuple[tuple[ForeignSource, str], ...]
    steps: tuple[str, ...]
    folder: CheckpointFolder
    place: str
    elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StateProof:
    """A `batch` that was run again from the state before it.

    It has given the `rows` that it has in `version` of the table, and left the same `state_rows` in the state.
    """

    batch: int
    version: int
    rows: int
    state_rows: int


class StateDoesNotFit(Exception):
    """The flow would not go on as the query; the text is the reason."""


def state_mismatch(flow: ResolvedFlow, folder: CheckpointFolder) -> str | None:
    """Returns why the flow cannot have the state of a checkpoint, as its files show; None if nothing is in the way."""
    kept = tuple(operators(folder))
    if folder.committed is None:
        return None  # what the batch in flight has left of a state is made again
    if kept and not flow.stateful:
        return "the query keeps state, and the flow keeps none"
    if flow.stateful and not kept:
        return f"the flow keeps state ({', '.join(flow.stateful)}), and the query has kept none"
    for number, operator in kept:
        if operator is None:
            return f"the description of its stateful operator {number} cannot be read"
        if (missing := next(missing_state_files(folder, operator, folder.committed + 1), None)) is not None:
            return f"{missing}, a part of its state, is missing"
    return None


def prove_state(
    workspace: Workspace, graph: ResolvedGraph, adoption: Adoption, progress: Progress
) -> StateProof | None:
    """As `Adopter.prove`.

    Raises:
        StateDoesNotFit: the batch fails or gives other rows or another state, or none can be tried.
    """
    if not adoption.flow.stateful or adoption.batch is None:
        return None
    try:
        return _proof(workspace, graph, adoption, progress)
    except (UnreadableCheckpoint, DamagedFile, UnknownVersion, FileNotFoundError) as error:
        raise StateDoesNotFit(f"its checkpoint changes, or a part of it is damaged: {error}") from error
    except (PySparkException, Py4JError) as failure:
        raise StateDoesNotFit(f"its state cannot be read: {first_line(failure)}") from failure


def _proof(workspace: Workspace, graph: ResolvedGraph, adoption: Adoption, progress: Progress) -> StateProof:
    batch, version, needed = _newest_with_input(adoption)
    label, storage = adoption.dataset.name, Storage(workspace.config.storage)
    state_rows = 0

    def compare_states(replayed: str) -> None:
        nonlocal state_rows
        for checkpoint in (named.uri, replayed):
            partitions = state_partitions(Storage(checkpoint))
            assert partitions is not None, "its operators are described"
            note_partitions(Storage(checkpoint), batch, partitions)
        for number, _ in operators(named):
            equal, different = compare_state(workspace.spark, named.uri, replayed, number)
            if different:
                raise StateDoesNotFit(f"its batch {batch}, run again from its state, leaves another state than it has")
            state_rows += equal

    with scratch_folder(storage, f"{label}-adopted", keep=False) as place:
        names = {source.name: name for source, name in adoption.sources}
        progress(f"Copying the state of the query before batch {batch}")
        copy_with_names(needed, names, storage, f"{place}/checkpoint")
        named = CheckpointFolder.open(f"{place}/checkpoint")
        flow = adoption.flow.declaration.name
        recorded = RecordedBatch(adoption.dataset, flow, label, batch, named, adoption.path, version - 1, version)
        try:
            replayed = replay_in(workspace, graph, recorded, progress=progress, look=compare_states)
        except PenstockError as failure:
            raise StateDoesNotFit(f"its batch {batch} cannot be run again: {failure.message}") from failure
    found = replayed.difference
    if not found.same:
        raise StateDoesNotFit(
            f"its batch {batch}, run again from its state, gives other rows than version {version} of the table has: "
            f"{found.only_left} that are not there, and not {found.only_right} that are"
        )
    return StateProof(batch, version, found.equal, state_rows)


def _newest_with_input(adoption: Adoption) -> tuple[int, int, CheckpointFolder]:
    """The batch to try, the version of the table that has its rows, and the files that it takes."""
    folder, table = adoption.folder, Storage(adoption.path)
    known = set(repeatable_batches(folder))
    kept = [each for _, each in operators(folder) if each is not None]
    commits = commits_of(table, adoption.version, adoption.query_id)
    for batch, version, content in islice(commits, _COMMITS_LOOKED_AT):
        if (
            version
            and batch in known
            and _has_read(folder, batch)
            and holds_files_of(table, content)
            and not any(next(missing_state_files(folder, each, batch), None) for each in kept)
        ):
            names = {*files_before(folder, batch), *files_after(folder, batch)}
            return batch, version, replace(folder, files={name: folder.files[name] for name in names})
    raise StateDoesNotFit(
        "nothing shows that the flow would go on with its state as the query does: of no batch that has read something "
        "both the rows in the table and the state before it are still there"
    )


def _has_read(folder: CheckpointFolder, batch: int) -> bool:
    """Whether a batch has other offsets than the one before; one without only closes windows."""
    return batch == 0 or folder.planned_batch(batch).offsets != folder.planned_batch(batch - 1).offsets

"""A streaming source no longer has what a flow has not read yet: what that is called, and how to go on without it.

Nothing is skipped by itself. Once a person has accepted the loss that a flow has reported under one of these
conditions, `reading_without` and `settings_without` make its sources skip this kind of loss, and no other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from deltalake.exceptions import DeltaError

from penstock.errors import PenstockError, StateError
from penstock.spark.failures.causes import causes_of
from penstock.spark.failures.python_sources import DATA_LOSS, parse_failure
from penstock.storage import Storage, local_path
from penstock.storage.checkpoint.logs import DamagedFile, UnknownVersion, parse_query_id
from penstock.storage.checkpoint.planned_files import (
    ChangedFiles,
    changed_files,
    list_planned_files_again,
    planned_files,
)
from penstock.storage.checkpoint.source_offsets import move_source, newest_batch, newest_offsets
from penstock.storage.delta.commits import commit_version
from penstock.storage.delta.table import open_delta_table

KAFKA: Final = "KAFKA_DATA_LOSS"
KINESIS: Final = DATA_LOSS
FILES: Final = "SOURCE_FILES_LOST"
VERSIONS: Final = "SOURCE_VERSIONS_LOST"
ROWS: Final = "SOURCE_ROWS_CHANGED"
TABLE: Final = "SOURCE_TABLE_REPLACED"
LOSSES: Final = frozenset({KAFKA, KINESIS, FILES, VERSIONS, ROWS, TABLE})

_REPLACED = "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE"
_FILE_GONE = "FAILED_READ_FILE.FILE_NOT_EXIST"
_LOG_GONE = "DELTA_LOG_FILE_NOT_FOUND"
_COMMITS_GONE = "DELTA_MISSING_FILES_UNEXPECTED_VERSION"
_REASON = re.compile(r"Reason:\s*(.+)", re.DOTALL)
_GROUP = re.compile(r"\s+with consumer group \S+?(?=\.?(\s|$))")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.")


def source_loss(error: BaseException, *, dataset: str, flow: str, checkpoint: str) -> StateError | None:
    """Returns what a streaming flow's failure says about lost data, with the lost range; None when it says nothing.

    Called when no query uses the checkpoint. Reads it, and the log of a Delta source, without Spark.
    """
    for cause in causes_of(error):
        condition = cause.condition or ""
        failure = parse_failure([cause.message])
        if failure is not None and failure.condition == KINESIS:
            return _lost(KINESIS, dataset, flow, lost=failure.facts["lost"])
        if condition.startswith(KAFKA):
            return _lost(KAFKA, dataset, flow, lost=_kafka_range(cause.message))
        if condition == _REPLACED:
            old, new = cause.parameters.get("oldTableId", ""), cause.parameters.get("newTableId", "")
            return _lost(TABLE, dataset, flow, lost=f"the table {old}; there is {new} now", table_id=old)
        if condition.startswith(_LOG_GONE) and (path := cause.parameters.get("logPath")):
            return _snapshot_gone(local_path(path).removesuffix("/_delta_log"), dataset, flow, checkpoint)
        if condition == _COMMITS_GONE:
            versions = cause.parameters
            first, earliest = int(versions["startVersion"]), int(versions["earliestVersion"])
            return _commits_gone(first, earliest, dataset, flow, checkpoint)
        if condition == _FILE_GONE and (path := cause.parameters.get("path")):
            return _file_lost(local_path(path), dataset, flow, checkpoint)
    return None


def check_planned_files(
    checkpoint: str,
    *,
    dataset: str,
    flow: str,
    table: str | None,
    corrected: Callable[[], bool],
    overwritable: Collection[str] = (),
) -> None:
    """Refuses to run a planned batch again whose files are not what they were; called before the query starts.

    `table` is a Delta table that takes the batch in one commit: when it has the batch, the files are not needed.
    `corrected` returns whether files were rightly overwritten, because Penstock had asked for that; called if any were.
    Files of the sources `overwritable` may be overwritten: the batch reads what they hold now, and that counts as
    read where `table` shows that nothing else was.

    Raises:
        StateError: SOURCE_FILES_LOST.
    """
    lost = lost_planned_files(checkpoint)
    if lost and (table is None or not holds_newest_batch(table, checkpoint)):
        if lost.overwritten and overwritable:
            if table is not None:
                list_planned_files_again(checkpoint, overwritable)
            lost = lost_planned_files(checkpoint, overwritable)
        if lost.overwritten and corrected():
            lost = replace(lost, overwritten=())
        if lost:
            raise _lost(FILES, dataset, flow, lost=str(lost))


def reading_without(accepted: str | None, source_format: str) -> Mapping[str, str]:
    """Returns the options with which sources of a format skip an accepted loss; `accepted` is its condition."""
    kind = source_format.casefold()
    match accepted:
        case "KAFKA_DATA_LOSS" | "KINESIS_DATA_LOSS" if accepted == f"{kind.upper()}_DATA_LOSS":
            return {"failOnDataLoss": "false"}
        case "SOURCE_ROWS_CHANGED" if kind in {"delta", "table"}:
            return {"skipChangeCommits": "true"}
        case "SOURCE_FILES_LOST" if kind not in {"delta", "kafka", "kinesis", "table"}:
            return {"ignoreMissingFiles": "true"}
        case _:
            return {}


def settings_without(accepted: str | None) -> Mapping[str, str]:
    """Returns settings of the flow's query for what Delta has no option for."""
    return {"spark.sql.files.ignoreMissingFiles": "true"} if accepted == FILES else {}


def go_on_elsewhere(checkpoint: str, facts: Mapping[str, str]) -> None:
    """Leaves behind what a Delta source has lost and no option skips; `facts` are those of the accepted error.

    The source asks for what its checkpoint names. So the checkpoint names the first version that can be read, or
    nothing for a table that took the place of the one that was read.
    Only between batches: one that was planned with what is lost cannot be run again.
    """
    table_id, resume = facts.get("table_id", ""), facts.get("resume", "")
    for source, offset in newest_offsets(checkpoint).items():
        if not isinstance(offset, dict) or offset.get("reservoirId") != table_id:
            continue
        if not resume:
            move_source(checkpoint, source, None)
        elif int(offset["reservoirVersion"]) < int(resume):  # else it is past the loss: an earlier start has done this
            beginning = {"reservoirVersion": int(resume), "index": -1, "isStartingVersion": False}
            move_source(checkpoint, source, {**offset, **beginning})


def _lost(condition: str, dataset: str, flow: str, *, lost: str, table_id: str = "", resume: str = "") -> StateError:
    return StateError(condition, dataset=dataset, flow=flow, name=dataset, lost=lost, table_id=table_id, resume=resume)


def _kafka_range(message: str) -> str:
    """Spark's own words: which offsets of which partition."""
    found = _REASON.search(message)
    text = " ".join((found.group(1) if found else message).split("SQLSTATE")[0].split())
    return _GROUP.sub("", text).removesuffix(".").strip()


def _commits_gone(first: int, earliest: int, dataset: str, flow: str, checkpoint: str) -> StateError:
    """Delta names versions and not the table: it is the one that a newest batch has read up to the first of them.

    Its own option to go on without them, `failOnDataLoss`, asks for the commits of the newest batch all the same.
    """
    before = dict(_delta_offsets(checkpoint, back=1))
    behind = [
        (name, offset)
        for name, offset in _delta_offsets(checkpoint)
        if offset["reservoirVersion"] < earliest
        and first in {offset["reservoirVersion"], before.get(name, offset)["reservoirVersion"]}
    ]
    if len(behind) != 1:
        return _lost(VERSIONS, dataset, flow, lost=_range(first, earliest - 1))
    [(name, offset)] = behind
    lost = f"{_range(offset['reservoirVersion'], earliest - 1)} of the source {name}"
    return _lost(VERSIONS, dataset, flow, lost=lost, table_id=str(offset["reservoirId"]), resume=str(earliest))


def _snapshot_gone(path: str, dataset: str, flow: str, checkpoint: str) -> StateError:
    """A query asks on its start for the table as it was at its newest batch when that came from a snapshot."""
    identity = _table_id(path) or ""
    offsets = [offset for _, offset in _delta_offsets(checkpoint) if offset.get("reservoirId") == identity]
    first = min((int(offset["reservoirVersion"]) for offset in offsets), default=0)
    names = {file.name for file in Storage(path).list("_delta_log")}
    resume = first_readable_version(names, after=first, has_older_batch=(newest_batch(checkpoint) or 0) > 0)
    if resume is None:
        return _lost(VERSIONS, dataset, flow, lost=f"version {first} of {path} and later ones")
    lost = f"{_range(first, resume - 1)} of {path}"
    return _lost(VERSIONS, dataset, flow, lost=lost, table_id=identity, resume=str(resume))


def first_readable_version(log: Collection[str], *, after: int, has_older_batch: bool) -> int | None:
    """Returns the first version after a lost one from which a checkpoint can go on; None for none.

    `log` holds the names of the log's files. The source reads commits, so it can go on where those begin that are
    left. But a query with one batch only, which `has_older_batch` denies, asks on its start for the table as it was
    before its offset, which nothing but a checkpoint of the table holds there.
    """
    commits = {version for name in log if (version := commit_version(name)) is not None}
    checkpoints = {int(found[1]) for name in log if (found := _CHECKPOINT.match(name))}
    start = max(commits | checkpoints, default=-1) + 1
    while start - 1 in commits:
        start -= 1
    starts = {start} if has_older_batch else {each + 1 for each in checkpoints if each + 1 >= start}
    return min((version for version in starts if version > after), default=None)


def _delta_offsets(checkpoint: str, *, back: int = 0) -> list[tuple[str, Mapping[str, Any]]]:
    offsets = newest_offsets(checkpoint, back=back).items()
    return [(name, offset) for name, offset in offsets if isinstance(offset, dict) and "reservoirVersion" in offset]


def _range(first: int, last: int) -> str:
    return f"version {first}" if last <= first else f"versions {first} to {last}"


def _file_lost(path: str, dataset: str, flow: str, checkpoint: str) -> StateError | None:
    """A file of the planned batch, or of a Delta source; None for one that the query reads in another way."""
    if lost := lost_planned_files(checkpoint):
        return _lost(FILES, dataset, flow, lost=str(lost))
    table = path.rpartition("/")[0]
    while table.rpartition("/")[0] and not Storage(table).exists("_delta_log"):
        table = table.rpartition("/")[0]
    identity = _table_id(table)
    offsets: Mapping[str, Any] = newest_offsets(checkpoint)
    if identity is None or all((each or {}).get("reservoirId") != identity for each in offsets.values()):
        return None
    return _lost(FILES, dataset, flow, lost=f"deleted: {path}")


def lost_planned_files(checkpoint: str, overwritable: Collection[str] = ()) -> ChangedFiles:
    """Returns the files of a planned batch that are not what they were; nothing when it is finished."""
    try:
        return changed_files(planned_files(checkpoint, overwritable))
    except (DamagedFile, UnknownVersion):
        return ChangedFiles()  # what is wrong with a checkpoint is said elsewhere


def holds_newest_batch(table: str, checkpoint: str) -> bool:
    """Whether the Delta table has the newest batch that a checkpoint has planned; False also when it cannot be read."""
    try:
        query_id = parse_query_id(Storage(checkpoint).read_bytes("metadata"))
        written = open_delta_table(table).transaction_version(query_id)
    except (DamagedFile, DeltaError, OSError, PenstockError):
        return False
    newest = newest_batch(checkpoint)
    return written is not None and newest is not None and written >= newest


def _table_id(path: str) -> str | None:
    try:
        return str(open_delta_table(path).metadata().id)
    except (DeltaError, OSError, ValueError, PenstockError):
        return None

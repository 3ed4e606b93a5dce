"""The newest files of a checkpoint, which a query's start reads first: judged, and taken away where that is safe.

Spark writes a file of `offsets/`, `commits/` or `sources/` under another name and renames it, but neither it nor
Hadoop waits for the disk. So a process that dies leaves whole files, and a machine that loses its power can leave the
newest ones empty or cut, with which no query starts. Three of them need not be there:

`commits/N`, N being the newest planned batch. It is written when everything else of the batch is. Without it the batch
counts as in flight: it runs again over the same `offsets/N` and the same state, as after any crash, and a table that
holds N already leaves its rows out.

`offsets/N` without `commits/N`. It is written before the batch does anything. What the batch has read is forgotten, so
another one comes under this number, which does no harm if nothing of the first one is left: no table notes N under the
query's id (each takes the batch's rows and its number in one commit), and no state is newer than the one that N began
with. A sink does not record it, so there it is not safe.

`sources/S/K`, the newest one, later than the newest planned step of the source. A file source writes its step before
the batch is planned, so no batch has read these files; the next look at the folder finds them again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

from penstock.storage.checkpoint.backup import COMPARED_WITH
from penstock.storage.checkpoint.folder import REWINDING, CheckpointFolder, checksum_of
from penstock.storage.checkpoint.logs import (
    EARLIER_PLAN,
    DamagedFile,
    PlannedBatch,
    UnknownVersion,
    parse_commit,
    parse_planned_batch,
    parse_query_id,
    parse_source_step,
)
from penstock.storage.checkpoint.partitions import repartitions_state
from penstock.storage.checkpoint.source_offsets import missing_source_files, steps_of
from penstock.storage.checkpoint.state import state_version
from penstock.storage.filesystem import Storage

_Content = TypeVar("_Content")
_MOST_BYTES_READ: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a checkpoint: a condition of the catalogue, and its facts but the flow's name."""

    condition: str
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Repair:
    """A file to take away, and why that loses nothing, in words; `batch` is the one that is planned again, if any."""

    file: str
    reason: str
    batch: int | None = None


@dataclass(slots=True)
class NewestFiles:
    """What is wrong with them: `findings` keep a query from starting, `repairs` are to be done before."""

    findings: list[Finding] = field(default_factory=list)
    repairs: list[Repair] = field(default_factory=list)


def check_newest(folder: CheckpointFolder, *, newest_batch: Callable[[], int | None] | None) -> NewestFiles:
    """Judges the newest files of a checkpoint; reads a handful of them, and changes nothing.

    `newest_batch` finds the newest one that any table into which the query writes notes under its id, None for no
    batch; it is called only when that matters. For a sink it is None itself: it is not known.
    """
    found = NewestFiles()
    try:
        rewinding = folder.rewinding_to()
    except DamagedFile as error:
        found.findings.append(_finding(folder, REWINDING, error))
    else:
        if rewinding is not None:
            found.findings.append(Finding("CHECKPOINT_REWIND_UNFINISHED", {"batch": rewinding}))
    if folder.is_begun:
        _check_query_id(folder, found)
        newest = _check_batches(folder, found, newest_batch)
        _check_sources(folder, found, newest)
    return found


def repair(folder: CheckpointFolder, chosen: Repair) -> None:
    """Takes the file away; when the process dies in between, the next check finds the same.

    Raises:
        ConfigError: STORAGE_NOT_WRITABLE.
    """
    if chosen.batch is not None:
        # It has the version of the table with which the rows of the forgotten batch were compared.
        Storage(folder.uri.rpartition("/")[0]).delete(COMPARED_WITH)
    folder.storage.delete(checksum_of(chosen.file))  # first: a checksum alone would be taken for the next file's
    folder.storage.delete(chosen.file)


def remove_unfinished_plan(checkpoint: str) -> None:
    """Removes what an interrupted write of a query's first plan has left; Spark refuses to plan beside it.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_NOT_WRITABLE.
    """
    storage = Storage(checkpoint)
    files = [file.name for file in storage.list("offsets")]
    if all(name.startswith(".") for name in files):
        for name in files:
            storage.delete(f"offsets/{name}")


def _check_query_id(folder: CheckpointFolder, found: NewestFiles) -> None:
    if "metadata" not in folder.files:
        found.findings.append(_missing(folder, "metadata"))
    elif (damage := _damage(folder, "metadata", parse_query_id)) is not None:
        found.findings.append(damage)


def _check_batches(
    folder: CheckpointFolder, found: NewestFiles, newest_batch: Callable[[], int | None] | None
) -> PlannedBatch | None:
    """Returns the newest batch that is planned, or stays planned after the repairs."""
    planned, committed = folder.planned, folder.committed
    if committed is not None and (planned is None or committed > planned):
        found.findings.append(Finding("CHECKPOINT_COMMIT_WITHOUT_OFFSETS", {"batches": committed}))
        return None
    if committed is not None and (damage := _damage(folder, f"commits/{committed}", parse_commit)) is not None:
        if committed == planned and damage.condition == "CHECKPOINT_FILE_DAMAGED":
            reason = f"the note that batch {committed} is done {damage.facts['reason']}: the batch is done again"
            found.repairs.append(Repair(f"commits/{committed}", reason))
        else:
            found.findings.append(damage)
    if planned is None:
        return None
    newest, damage = _planned_batch(folder, planned)
    if damage is not None and damage.condition == "CHECKPOINT_FILE_DAMAGED" and folder.in_flight is not None:
        written = None if newest_batch is None else newest_batch()
        unwritten = newest_batch is not None and (written is None or written < planned)
        if unwritten and not _has_state_after(folder, planned):
            reason = (
                f"the plan of batch {planned} {damage.facts['reason']}, and none of it was written: it is made anew"
            )
            found.repairs.append(Repair(f"offsets/{planned}", reason, planned))
            planned, damage = planned - 1, None
            newest = _checked(folder, found, planned) if planned >= 0 else None
    if damage is not None:
        found.findings.append(damage)
    if planned >= 1:  # Spark reads the one before as well
        before = _checked(folder, found, planned - 1)
        if newest is not None and before is not None:
            if newest.repeats(before):
                found.findings.append(_finding(folder, f"offsets/{planned}", DamagedFile(EARLIER_PLAN)))
            done_again = committed != planned or any(each.file == f"commits/{planned}" for each in found.repairs)
            if done_again and repartitions_state(newest, before):
                # Only `penstock checkpoint repartition` makes such a batch, and it is not run again.
                found.repairs.clear()
                found.findings.append(_missing(folder, f"commits/{planned}"))
    return newest


def _checked(folder: CheckpointFolder, found: NewestFiles, number: int) -> PlannedBatch | None:
    if f"offsets/{number}" not in folder.files:
        found.findings.append(Finding("CHECKPOINT_BATCH_MISSING", {"log": "offsets", "batches": number}))
        return None
    batch, damage = _planned_batch(folder, number)
    if damage is not None:
        found.findings.append(damage)
    return batch


def _planned_batch(folder: CheckpointFolder, number: int) -> tuple[PlannedBatch | None, Finding | None]:
    return _parsed(folder, f"offsets/{number}", parse_planned_batch)


def _check_sources(folder: CheckpointFolder, found: NewestFiles, newest: PlannedBatch | None) -> None:
    if newest is not None:
        for source, offset in newest.offsets.items():
            found.findings.extend(_missing(folder, name) for name in missing_source_files(folder, source, offset))
    if found.findings:
        return  # what was planned is not known for certain
    for source in {name.partition("/")[0] for name in folder.below("sources")}:
        offset = None if newest is None else newest.offsets.get(source)
        for name, step in _steps_read(folder, source):
            damage = _damage(folder, name, partial(parse_source_step, step=step))
            if damage is None:
                continue
            if damage.condition == "CHECKPOINT_FILE_DAMAGED" and _is_unread(folder, name, step, offset):
                reason = f"step {step} of source {source} {damage.facts['reason']}, and no batch has read it"
                found.repairs.append(Repair(name, f"{reason}: its files are found again"))
            else:
                found.findings.append(damage)


def _steps_read(folder: CheckpointFolder, source: str) -> list[tuple[str, int]]:
    """The files of a source's log that a start reads: the compacted one, unless it is large, and those after it."""
    steps = sorted(steps_of(folder, source), key=lambda each: each[1])
    compacted = max((step for name, step in steps if name.endswith(".compact")), default=-1)
    return [
        (name, step)
        for name, step in steps
        if (step > compacted or name.endswith(f"/{compacted}.compact")) and folder.files[name].size <= _MOST_BYTES_READ
    ]


def _is_unread(folder: CheckpointFolder, name: str, step: int, offset: Any) -> bool:
    """Whether a step comes after what was planned, and the steps before it are there without it."""
    match offset:
        case {"logOffset": int(planned)} if step > planned:
            source = name.split("/")[1]
            if step < max(number for _, number in steps_of(folder, source)):
                return False
            return not any(missing_source_files(folder.without(name), source, {"logOffset": step - 1}))
        case _:
            return False


def _has_state_after(folder: CheckpointFolder, batch: int) -> bool:
    """Whether there is state of a batch that began with the state's version `batch`, whole or in part."""
    versions = (state_version(f"state/{file.name}") for file in folder.storage.walk("state"))
    return any(version is not None and version > batch for version in versions)


def _damage(folder: CheckpointFolder, name: str, parser: Callable[[bytes], object]) -> Finding | None:
    return _parsed(folder, name, parser)[1]


def _parsed(
    folder: CheckpointFolder, name: str, parser: Callable[[bytes], _Content]
) -> tuple[_Content | None, Finding | None]:
    """Returns what a file says, or what is wrong with it."""
    content = folder.read_unchecked(name)
    try:
        parsed = parser(content)
    except (DamagedFile, UnknownVersion) as error:
        return None, _finding(folder, name, error)
    if not folder.fits_checksum(name, content):
        return None, _finding(folder, name, DamagedFile("does not fit its checksum"))
    return parsed, None


def _finding(folder: CheckpointFolder, name: str, error: DamagedFile | UnknownVersion) -> Finding:
    file = folder.files[name].uri
    if isinstance(error, UnknownVersion):
        return Finding("CHECKPOINT_VERSION_UNKNOWN", {"file": file, "version": error})
    return Finding("CHECKPOINT_FILE_DAMAGED", {"file": file, "reason": error})


def _missing(folder: CheckpointFolder, name: str) -> Finding:
    return Finding("CHECKPOINT_FILE_MISSING", {"file": f"{folder.uri}/{name}"})

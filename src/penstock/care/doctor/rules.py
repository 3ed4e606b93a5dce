"""What a sound storage looks like, a function for each kind of finding."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any, Final

from penstock.care.doctor.catalogue import rules
from penstock.care.doctor.facts import StorageFacts
from penstock.care.finding import Finding
from penstock.errors import DefinitionError, ExternalError, PenstockError, SourceLocation, StateError
from penstock.observe.numbers import byte_size, percent
from penstock.observe.run_resources import resource_warnings
from penstock.storage import StorageLayout


def found(rule: str, error: PenstockError, **about: Any) -> Finding:
    """Returns the finding of a rule of the catalogue that a condition is; `about` as for `Finding.of_error`."""
    return Finding.of_error(rules()[rule], error, **about)


# Checkpoints are whole and fit their tables, as `penstock checkpoint verify` says.
def sound_checkpoints(facts: StorageFacts) -> Iterator[Finding]:
    """Yields what was found there."""
    folders = {each.name: each.folder.uri for each in facts.verification.checked}
    for error in facts.verification.findings:
        flow = error.facts.get("flow")
        look = ["penstock checkpoint verify"] if flow is None else [f"penstock checkpoint show {shlex.quote(flow)}"]
        yield found(
            "checkpoints-sound", error, where=error.facts.get("path") or folders.get(flow or ""), commands=tuple(look)
        )


# Each stored table can be opened, and has its data files.
_NOT_READABLE = "TABLE_NOT_READABLE"


def readable_tables(facts: StorageFacts) -> Iterator[Finding]:
    """Yields TABLE_NOT_READABLE, DATA_FILES_MISSING, or what a store refuses; not what a checkpoint's finding says."""
    reported = {error.dataset for error in facts.verification.findings if error.condition == _NOT_READABLE}
    for table in facts.table_facts:
        if table.error is not None and table.name not in reported:
            command = f"penstock show {shlex.quote(table.name)}"
            yield found("tables-readable", table.error, where=table.table.uri, commands=(command,))


# No later version of Penstock has written the storage.
def earlier_version(facts: StorageFacts) -> Iterator[Finding]:
    """Yields STORAGE_WRITTEN_BY_LATER_VERSION, with the latest of them."""
    writer = max(facts.writers, key=lambda each: _release(each.version), default=None)
    if writer is not None and _release(writer.version) > _release(facts.own_version):
        error = StateError("STORAGE_WRITTEN_BY_LATER_VERSION", version=writer.version, own=facts.own_version)
        upgrade = ("pip install --upgrade penstock",)
        yield found("version-not-later", error, where=facts.storage, since=writer.since, commands=upgrade)


def _release(version: str) -> tuple[int, ...]:
    """The numbers before any suffix, without zeros at their end: 0.2.0.dev1 and 0.2 are one release."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in found[0].split(".")] if found else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


# The disk under a local storage has room for batches to come.
_ENOUGH: Final = 5_000_000_000
_LITTLE: Final = 1_000_000_000
_SHARE: Final = 0.05


def disk_space(facts: StorageFacts) -> Iterator[Finding]:
    """Yields DISK_SPACE_LOW below 1 GB, and below 5 GB of a disk of which less than 5 % is free."""
    disk = facts.disk
    if disk is None or disk.free >= _ENOUGH:
        return
    if disk.free < _LITTLE or disk.free < _SHARE * disk.total:
        free, share = byte_size(disk.free), percent(disk.free, disk.total)
        error = ExternalError("DISK_SPACE_LOW", free=free, share=share)
        yield found("disk-space", error, where=facts.storage, commands=("penstock vacuum", "penstock compact"))


# The lock of the storage is held by a process that lives, or by none.
def lock_holder(facts: StorageFacts) -> Iterator[Finding]:
    """Yields STORAGE_LOCK_LEFT for a holder that is gone."""
    holder = facts.holder
    if holder is not None and not holder.alive():
        error = StateError("STORAGE_LOCK_LEFT", pid=holder.owner.pid, host=holder.owner.host)
        place = StorageLayout(facts.storage).lock
        yield found("lock-held", error, where=place, since=holder.heartbeat, commands=("penstock run",))


# A run that goes on has file descriptors left, and its output stays small.
def run_resources(facts: StorageFacts) -> Iterator[Finding]:
    """Yields RUN_DESCRIPTORS_LOW, RUN_THREADS_MANY and RUN_LOG_LARGE."""
    for error in resource_warnings(facts.processes):
        yield found("run-resources", error)


# Each line of the event log can be read.
def readable_events(facts: StorageFacts) -> Iterator[Finding]:
    """Yields EVENT_LOG_LINES_SKIPPED, once for all of them."""
    if facts.unreadable:
        file, line = facts.unreadable[0]
        count = len(facts.unreadable)
        error = StateError("EVENT_LOG_LINES_SKIPPED", lines=f"{count:,} {'line' if count == 1 else 'lines'}")
        yield found("event-log-readable", error, where=f"{file}:{line}", commands=("penstock audit",))


# Each stored table is still declared by the pipeline.
def declared_tables(facts: StorageFacts) -> Iterator[Finding]:
    """Yields DATASET_NOT_DECLARED for each one that was not at the newest update, and is still there."""
    stored = {str(table.identifier).casefold(): table.uri for table in facts.tables}
    for name in facts.undeclared:
        where = stored.get(name.casefold())
        if where is not None:
            word = shlex.quote(name)
            error = DefinitionError("DATASET_NOT_DECLARED", dataset=name, name=name, word=word)
            yield found("tables-declared", error, where=where, commands=(f"penstock drop {word}",))


# The state of each join of two streams is freed some time.
def bounded_state(facts: StorageFacts) -> Iterator[Finding]:
    """Yields STREAM_STREAM_JOIN_WITHOUT_TIME_BOUND with the size of the state, where the flow does not allow it."""
    for dataset in facts.datasets:
        warning = dataset.state_warning
        if warning is not None:
            place = SourceLocation(str(warning["file"]), warning.get("line")) if warning.get("file") else None
            error = DefinitionError(
                str(warning["condition"]), location=place, dataset=dataset.name, **warning.get("facts", {})
            )
            yield found("state-bounded", error, commands=(f"penstock state {dataset.name}",))

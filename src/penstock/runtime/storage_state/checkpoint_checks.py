"""Looks at the checkpoints with which an update would go on, before a byte is written. Needs no Spark.

Cheap, because each run does it: a folder is listed without its state, a handful of small files is read, and the table
is asked for one number. The event log is read only when something is missing. `penstock checkpoint verify` looks
closer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Final

from deltalake import DeltaTable

from penstock.errors import PenstockError, StateError
from penstock.events import read_events, tail_events
from penstock.events.flows.records import FlowRecord, FlowRecords
from penstock.graph.companions.quarantine import quarantine_of, quarantine_path
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import ResolvedFlow, ResolvedGraph
from penstock.plan.state import GENERATION, CheckpointCheck
from penstock.runtime.storage_state.stream_notes import FlowOwner, noted_owner
from penstock.storage import Storage, StorageLayout
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.logs import DamagedFile
from penstock.storage.checkpoint.newest import check_newest
from penstock.storage.delta.commits import read_commit, transactions_of
from penstock.storage.delta.log import log_damage
from penstock.storage.delta.table import is_delta_table, open_delta_table

_RECENT_BATCHES: Final = 50


@dataclass(frozen=True, slots=True)
class _Stream:
    """A streaming flow, the checkpoint with which it goes on, and its table at `path`; None and no path for a sink."""

    flow: ResolvedFlow
    folder: CheckpointFolder
    generation: int
    table: DeltaTable | None
    path: str

    @property
    def query_id(self) -> str | None:
        return self.folder.known_query_id()

    def refusal(self, condition: str, **facts: object) -> StateError:
        flow, target = self.flow.declaration, self.flow.declaration.target
        # What `penstock checkpoint` calls it.
        name = str(target) if flow.name.casefold() == target.name.casefold() else f"{target}/{flow.name}"
        placeholders: dict[str, Any] = {"flow": name, "name": target, **facts}
        return StateError(condition, location=flow.location, dataset=str(target), **placeholders)


@dataclass
class CheckpointChecks:
    """Judges the checkpoints of a pipeline's streaming flows.

    `tables` are those that exist, `paths` where they are, `highest` the newest generation of checkpoints of a target.
    """

    pipeline: str
    graph: ResolvedGraph
    layout: StorageLayout
    tables: Mapping[Identifier, DeltaTable]
    paths: Mapping[Identifier, str]
    highest: Mapping[Identifier, int]
    _owners: dict[str, str] = field(default_factory=dict, init=False)

    def found(self) -> Iterator[tuple[tuple[Identifier, str], CheckpointCheck]]:
        """Yields what is wrong, by target and flow; nothing of a flow that may begin, or go on as it is.

        Raises:
            ConfigError: STORAGE_NOT_READABLE.
        """
        for stream in self._streams():
            lost = tuple[PenstockError, ...](self._lost(stream)) if stream.folder.planned is None else ()
            check = CheckpointCheck(lost)
            if stream.folder.is_begun and not lost:
                check = self._newest(stream)
                refusals = (*self._foreign(stream), *check.refusals, *_damaged(stream), *self._other_batches(stream))
                check = CheckpointCheck(refusals, check.repairs)
            if check.refusals or check.repairs:
                yield (stream.flow.declaration.target, stream.flow.declaration.name), check

    def _streams(self) -> Iterator[_Stream]:
        for flow in self.graph.flows:
            target = flow.declaration.target
            table = self.tables.get(target)
            if flow.stream is None or (table is None and target in self.graph.tables):
                continue
            generation = self.highest.get(target, -1)
            if table is not None:
                generation = int(table.metadata().configuration.get(GENERATION, "0"))
            place = self.layout.checkpoint(target, flow.declaration.name, max(generation, 0))
            folder = CheckpointFolder.open_without_state(place)
            yield _Stream(flow, folder, max(generation, 0), table, self.paths.get(target, ""))

    def _lost(self, stream: _Stream) -> Iterator[StateError]:
        """A flow that has written would read everything again.

        That it has is known from the event log; when that has no batch of the table, from the table's own.
        """
        target, table = stream.flow.declaration.target, stream.table
        if table is not None and not table.file_uris():
            return
        record = self._record(self._all_records, stream)
        lost, logged = record.ran, any(each.ran for each in self._all_records if each.dataset == target)
        if table is not None and not (logged or record.was_reset):
            lost = has_unknown_query(self.layout, target, stream.path, table.version())
        if lost:
            yield stream.refusal("CHECKPOINT_LOST", path=stream.folder.uri)

    def _newest(self, stream: _Stream) -> CheckpointCheck:
        newest_batch = None if stream.table is None else partial(self._newest_batch, stream)
        found = check_newest(stream.folder, newest_batch=newest_batch)
        refusals = tuple(stream.refusal(each.condition, **each.facts) for each in found.findings)
        return CheckpointCheck(refusals, () if refusals else tuple(found.repairs))

    def _foreign(self, stream: _Stream) -> Iterator[StateError]:
        """The checkpoint of another flow, or a copy of one that is in use."""
        flow, place = stream.flow.declaration, stream.folder.uri
        owner = noted_owner(place)
        mine = FlowOwner(self.pipeline, flow.target.dotted, flow.name)
        if owner is not None and not owner.is_flow(mine):
            yield stream.refusal("CHECKPOINT_FOREIGN", path=place, owner=owner)
            return
        query_id = stream.query_id
        if query_id is None:
            return
        other = self._owners.setdefault(query_id, place)
        if other != place:
            yield stream.refusal("CHECKPOINT_SHARED", path=place, other=other, query_id=query_id)
        elif owner is not None and owner.pipeline != self.pipeline and stream.table is not None:
            # A pipeline may get another name; then its table knows the query.
            known = stream.table.transaction_version(query_id) is not None or _inherited(stream.folder) is not None
            if not known and stream.folder.committed is not None and stream.table.file_uris():
                yield stream.refusal("CHECKPOINT_FOREIGN", path=place, owner=owner)

    def _other_batches(self, stream: _Stream) -> Iterator[StateError]:
        """The table and the checkpoint know the same batches, but for one in flight and those without rows.

        A process can die before it has logged a batch. So a batch that the table lacks counts only if the log says
        that it had rows.
        """
        query_id, folder = stream.query_id, stream.folder
        if stream.table is None or query_id is None:
            return
        stored = stream.table.transaction_version(query_id)
        stored = _inherited(folder) if stored is None else stored
        if stored is not None and stored > (-1 if folder.planned is None else folder.planned):
            planned = "none" if folder.planned is None else folder.planned
            yield stream.refusal("CHECKPOINT_BEHIND_TARGET", stored=stored, planned=planned)
        elif folder.committed is not None and (stored is None or stored < folder.committed):
            first = max(0 if stored is None else stored + 1, folder.committed - _RECENT_BATCHES + 1)
            if self._wrote_rows(stream, range(first, folder.committed + 1)):
                shown = "none" if stored is None else stored
                yield stream.refusal("CHECKPOINT_AHEAD_OF_TARGET", stored=shown, committed=folder.committed)

    def _wrote_rows(self, stream: _Stream, batches: range) -> bool:
        record = self._record(self._recent_records, stream)
        if not all(batch in record.written for batch in batches):
            record = self._record(self._all_records, stream)
        return any(record.written.get(batch, 0) > 0 for batch in batches)

    def _newest_batch(self, stream: _Stream) -> int | None:
        """The newest batch of the query in its table, in the change log, or in the quarantine, each with its own id."""
        query_id, target = stream.query_id, stream.flow.declaration.target
        quarantine = quarantine_of(target)
        noted = {
            stream.path: query_id,
            self.layout.change_log(target, stream.generation): query_id,
            quarantine_path(stream.path): f"{query_id}/{quarantine}",
        }
        batches = [
            open_delta_table(path).transaction_version(app_id)
            for path, app_id in noted.items()
            if app_id is not None and is_delta_table(path)
        ]
        return max((batch for batch in batches if batch is not None), default=None)

    def _record(self, records: FlowRecords, stream: _Stream) -> FlowRecord:
        return records.of(stream.flow.declaration.target, stream.flow.declaration.name)

    @cached_property
    def _all_records(self) -> FlowRecords:
        return FlowRecords(read_events(self.layout.uri))

    @cached_property
    def _recent_records(self) -> FlowRecords:
        return FlowRecords(tail_events(self.layout.uri))


def _damaged(stream: _Stream) -> Iterator[StateError]:
    """A table that lacks the rows of an older commit: its newest batch says nothing of them."""
    damage = None if stream.table is None else log_damage(stream.table, stream.path)
    # Only `verify` reports missing files alone: a run must not be wrong about it.
    if damage is not None and damage.changed:
        yield stream.refusal("TABLE_LOG_DAMAGED", reason=damage.reason)


def _inherited(folder: CheckpointFolder) -> int | None:
    with suppress(DamagedFile):
        return folder.inherited_batch()
    return None


# Which queries have written a table although no checkpoint knows them: what is left when the event log is lost too.
_COMMITS_CHECKED: Final = 100
_QUERY_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def has_unknown_query(layout: StorageLayout, target: Identifier, path: str, version: int) -> bool:
    """Whether one of the newest hundred commits of the table at `path` is of a query without a checkpoint.

    Those of older generations count as well, and what a restore or a reset has moved away.
    """
    written = _queries(Storage(path), version)
    return bool(written) and not written <= _known(layout, target)


def _queries(table: Storage, version: int) -> set[str]:
    found = set[str]()
    for number in range(version, max(-1, version - _COMMITS_CHECKED), -1):
        content = read_commit(table, number)
        if content is None:
            break
        found |= {app_id for app_id, _ in transactions_of(content) if _QUERY_ID.fullmatch(app_id)}
    return found


def _known(layout: StorageLayout, target: Identifier) -> set[str | None]:
    storage, known = Storage(layout.uri), set[str | None]()
    for flow in storage.list(layout.notes(target)[1]):
        for generation in storage.list(flow.uri) if flow.is_directory else ():
            if generation.is_directory:
                known.add(CheckpointFolder.open_without_state(generation.uri).known_query_id())
    return known

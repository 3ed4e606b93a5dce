"""The record of reads: who was shown which rows, chained as the actions of the event log are.

The event log has one writer, the holder of the storage's lock; readers are many and come while a run works. So reads
have segments of their own, `<storage>/reads/<n>.jsonl`, with the same lines and the same chain, and each later action
of the event log names the newest read: whoever has the newest action notices reads that are gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from penstock.errors import ConfigError, ExternalError, PenstockError, StateError
from penstock.events.flows.facts import details_of
from penstock.events.log.action_chain import ActionChain
from penstock.events.log.audit import Actor, RecordedAction, Tampering, user_action
from penstock.storage import Storage, StorageLayout

READ: Final = "READ"
_MOST_TABLES: Final = 100


@dataclass(frozen=True, slots=True)
class ReadAudit:
    """Records the reads of one storage.

    Attributes:
        storage: its URI.
        pipeline: the name of the pipeline.
        reads: whether reads are recorded.
        required: whether a read that cannot be recorded is refused.
    """

    storage: str
    pipeline: str
    reads: bool = True
    required: bool = False

    def record(
        self, tables: Sequence[str], rows: int, arguments: Mapping[str, Any], *, by: Actor | None = None
    ) -> PenstockError | None:
        """Records that rows of `tables` are about to be shown; call it before they are.

        `arguments` say what was asked, such as `command` and `statement`; secrets are no longer in them. Returns why
        it could not be recorded, None when it was, or need not be.

        Raises:
            StateError: READ_NOT_RECORDED, where the record is required.
        """
        if not self.reads:
            return None
        names = [*tables[:_MOST_TABLES], *([f"and {len(tables) - _MOST_TABLES} more"] if tables[_MOST_TABLES:] else [])]
        built = user_action(READ, by=by, arguments={**arguments, "tables": names, "rows": rows})
        try:
            _reads(Storage(self.storage)).append(self.pipeline, *built)
        except (ConfigError, ExternalError) as error:
            reason = error
        else:
            return None
        if self.required:
            raise StateError("READ_NOT_RECORDED", storage=self.storage, reason=reason) from reason
        return reason


def newest_read(storage: Storage) -> str | None:
    """Returns the hash of the newest read, None when none was recorded."""
    return _reads(storage).newest()


def recorded_reads(storage_uri: str) -> Iterator[RecordedAction]:
    """Yields the reads of a storage, oldest first, each with what is wrong with it.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_SCHEME_UNSUPPORTED, STORAGE_EXTRA_MISSING.
    """
    return _reads(Storage(storage_uri)).actions()


def sealing(actions: Sequence[RecordedAction], reads: Sequence[RecordedAction]) -> list[RecordedAction]:
    """Returns the actions; one that names a read that is gone is marked so."""
    known = {each.hash for each in reads}

    def judged(action: RecordedAction) -> RecordedAction:
        named = None if action.event is None else details_of(action.event).get("reads")
        gone = action.tampering is None and named is not None and named not in known
        return replace(action, tampering=Tampering.READS_ARE_MISSING) if gone else action

    return [judged(each) for each in actions]


def _reads(storage: Storage) -> ActionChain:
    return ActionChain(storage, StorageLayout(storage.uri).reads)

"""One run per storage: a lock file with a heartbeat, refused at once, taken over from the dead.

On a disk and in S3 alike, of two processes that take it at the same moment one is refused: see `record`.
"""

from __future__ import annotations

import json
import logging
import os
import shlex
import socket
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self

from penstock.errors import ConfigError, ExternalError, StateError
from penstock.storage.exchange import finish_exchange
from penstock.storage.filesystem import Storage
from penstock.storage.layout import StorageLayout
from penstock.storage.process import birth_mark, machine
from penstock.storage.record import Record, record
from penstock.storage.s3_objects import OvertakenError

HEARTBEAT_SECONDS: Final = 10.0
STALE_SECONDS: Final = 60.0
_logger = logging.getLogger(__name__)


def without_values(words: Iterable[str]) -> list[str]:
    """Returns the words of a command line with `…` for the values of KEY=VALUE, which may be secret."""
    return [f"{word.partition('=')[0]}=…" if "=" in word else word for word in words]


@dataclass(frozen=True, slots=True)
class LockOwner:
    """Who asks for a lock; shown to whoever is refused.

    `started` is aware of its time zone; `command` is the command line without what `without_values` hides.
    """

    pid: int
    host: str
    started: datetime
    command: str = ""

    @classmethod
    def current(cls, command: str | None = None) -> LockOwner:
        """Returns this process as an owner; `command` defaults to the program's arguments."""
        shown = shlex.join(without_values(sys.argv)) if command is None else command
        return cls(os.getpid(), socket.gethostname(), datetime.now(UTC), shown)


@dataclass(frozen=True, slots=True)
class LockHolder:
    """What a lock file says. `heartbeat` is the holder's latest sign of life."""

    owner: LockOwner
    heartbeat: datetime
    token: str
    machine: str
    birth: str | None

    def alive(self, now: datetime | None = None) -> bool:
        """Whether the holder still works.

        On the machine that asks, the process table decides: a stopped process is alive however
        old its heartbeat, a killed one is dead at once. Elsewhere the heartbeat decides, which
        may be up to 60 s old.
        """
        if self.machine == machine():
            return birth_mark(self.owner.pid) in {self.birth, ""}
        return ((now or datetime.now(UTC)) - self.heartbeat).total_seconds() <= STALE_SECONDS

    def to_json(self) -> dict[str, Any]:
        """Returns the content of the lock file."""
        return {
            "pid": self.owner.pid,
            "host": self.owner.host,
            "started": self.owner.started.isoformat(),
            "command": self.owner.command,
            "heartbeat": self.heartbeat.isoformat(),
            "token": self.token,
            "machine": self.machine,
            "birth": self.birth,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> LockHolder:
        """Reads the content of a lock file; raises KeyError, TypeError or ValueError on any other."""
        return cls(
            owner=LockOwner(
                int(value["pid"]), str(value["host"]), _moment(value["started"]), str(value.get("command", ""))
            ),
            heartbeat=_moment(value["heartbeat"]),
            token=str(value["token"]),
            machine=str(value["machine"]),
            birth=value["birth"],
        )


def read_holder(storage: Storage) -> LockHolder | None:
    """Returns who holds the storage's lock, alive or not; None when free. Takes nothing.

    An unreadable lock file counts as free: the file is only ever replaced as a whole, so that what
    it holds then was written by someone else.
    """
    try:
        return _parsed(storage.read_text(StorageLayout(storage.uri).lock))
    except FileNotFoundError:
        return None


def is_locked(storage: Storage) -> bool:
    """Whether a live run holds the storage's lock, as far as this machine can tell; takes nothing."""
    holder = read_holder(storage)
    return holder is not None and holder.alive()


def refuse_if_locked(storage: str) -> None:
    """Spares a command the start of Spark that the lock would refuse afterwards; takes nothing.

    Raises:
        StateError: STORAGE_LOCKED; see `StorageLock.acquire`.
        ConfigError: as for `Storage`.
    """
    opened = Storage(storage)
    try:
        holder = read_holder(opened)
    except (ConfigError, ExternalError):
        return  # whoever takes the lock is told what is wrong with the storage
    if holder is not None and holder.alive():
        raise _locked(opened, holder)


class StorageLock:
    """The right to write to one storage; a context manager.

    While held, a daemon thread renews the heartbeat every 10 s. `on_lost` is called once, in that
    thread, should another host have taken the lock over because this process gave no sign of life
    for over a minute (a suspended laptop); the run must then stop without writing.
    """

    def __init__(
        self,
        storage: Storage | str,
        owner: LockOwner | None = None,
        *,
        on_lost: Callable[[], None] | None = None,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self.storage = Storage(storage) if isinstance(storage, str) else storage
        self.owner = owner or LockOwner.current()
        self._record: Record | None = None
        self._on_lost = on_lost
        self._heartbeat_seconds = heartbeat_seconds
        self._token: str | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._written = datetime.now(UTC)

    @property
    def held(self) -> bool:
        """Whether this object holds the lock, as far as its last heartbeat knows."""
        return self._token is not None

    def acquire(self) -> Self:
        """Takes the lock, at once or not at all; makes the storage's folder when it is missing.

        Then finishes what an earlier holder that died had begun with a checkpoint, see `exchange`.

        Raises:
            StateError: STORAGE_LOCKED (storage, pid, host, since), in well under a second; this
                process itself may be the holder. CHECKPOINT_NOTE_DAMAGED.
            ConfigError: STORAGE_NOT_WRITABLE; for one in S3 as for `S3Object`.
        """
        if self._token is not None:
            raise _locked(self.storage, self._holder(self._token))
        self.storage.makedirs()
        self._record = record(self.storage, StorageLayout(self.storage.uri).lock)
        token = uuid.uuid4().hex
        try:
            with self._record.exclusive():
                holder = _parsed(self._record.read())
                if holder is not None and holder.alive():
                    raise _locked(self.storage, holder)
                if holder is not None:
                    _logger.info("took over the lock of process %s on %s", holder.owner.pid, holder.owner.host)
                self._write(self._record, token)
        except (TimeoutError, OvertakenError):  # someone is between reading and writing the lock: they win
            holder = read_holder(self.storage)
            if holder is None or holder.token != token:  # else the store's answer to our own write was lost
                raise _locked(self.storage, holder) from None
        self._token = token
        self._stop.clear()
        self._thread = threading.Thread(target=self._beat, name="penstock-lock", daemon=True)
        self._thread.start()
        try:
            finish_exchange(self.storage)
        except BaseException:
            self.release()
            raise
        return self

    def release(self) -> None:
        """Gives the lock back if this object still holds it; again is harmless.

        A storage that can no longer be written is no error here: the lock is then taken over from
        a process that is gone.
        """
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._thread = None
        token, self._token = self._token, None
        if token is None or self._record is None:
            return
        try:
            with self._record.exclusive():
                holder = _parsed(self._record.read())
                if holder is not None and holder.token == token:
                    self._record.clear()
        except (ConfigError, ExternalError, TimeoutError, OvertakenError):
            _logger.warning("the lock of %s could not be removed", self.storage.uri)

    def __enter__(self) -> Self:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _beat(self) -> None:
        while not self._stop.wait(self._heartbeat_seconds):
            token, stored = self._token, self._record
            if token is None or stored is None:
                return
            try:
                with stored.exclusive():
                    holder = _parsed(stored.read())
                    # None: someone deleted the file, which is still ours, unless we were silent for so long that
                    # another process may have taken the lock over, and given it back.
                    if (holder is None and not self._was_silent()) or (holder and holder.token == token):
                        self._write(stored, token)
                        continue
            except (ConfigError, ExternalError, TimeoutError, OvertakenError):
                continue  # a full or absent disk, or someone was faster; the next beat looks again
            self._token = None
            _logger.error("another process took over the lock of %s", self.storage.uri)
            if self._on_lost is not None:
                self._on_lost()
            return

    def _was_silent(self) -> bool:
        return (datetime.now(UTC) - self._written).total_seconds() > STALE_SECONDS

    def _write(self, stored: Record, token: str) -> None:
        stored.write(json.dumps(self._holder(token).to_json(), indent=1) + "\n")
        self._written = datetime.now(UTC)

    def _holder(self, token: str) -> LockHolder:
        return LockHolder(self.owner, datetime.now(UTC), token, machine(), birth_mark(self.owner.pid))


def _parsed(text: str | None) -> LockHolder | None:
    try:
        return None if text is None else LockHolder.from_json(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _locked(storage: Storage, holder: LockHolder | None) -> StateError:
    owner = holder.owner if holder is not None else None
    return StateError(
        "STORAGE_LOCKED",
        storage=storage.uri,
        pid=owner.pid if owner else "unknown",
        host=owner.host if owner else "unknown",
        since=owner.started.isoformat(timespec="seconds") if owner else "now",
    )


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)

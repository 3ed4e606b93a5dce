"""One run per storage: a lock file with a heartbeat, refused at once, taken over from the dead."""

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
from penstock.storage.s3 import S3_SCHEMES

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
        return LockHolder.from_json(json.loads(storage.read_text(StorageLayout(storage.uri).lock)))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def is_locked(storage: Storage) -> bool:
    """Whether a live run holds the storage's lock, as far as this machine can tell; takes nothing."""
    holder = read_holder(storage)
    return holder is not None and holder.alive()


def refuse_if_locked(storage: str) -> None:
    """Spares a command the start of Spark that the lock would refuse afterwards; takes nothing.

    Raises:
        StateError: STORAGE_LOCKED; see `StorageLock.acquire`.
        ConfigError: STORAGE_ON_OBJECT_STORE; as for `Storage`.
    """
    opened = Storage(storage)
    _refuse_object_store(opened)
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
        self._path = StorageLayout(self.storage.uri).lock
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
            ConfigError: STORAGE_NOT_WRITABLE, STORAGE_ON_OBJECT_STORE.
        """
        _refuse_object_store(self.storage)
        if self._token is not None:
            raise _locked(self.storage, self._holder(self._token))
        self.storage.makedirs()
        token = uuid.uuid4().hex
        try:
            with self.storage.exclusive():
                holder = read_holder(self.storage)
                if holder is not None and holder.alive():
                    raise _locked(self.storage, holder)
                if holder is not None:
                    _logger.info("took over the lock of process %s on %s", holder.owner.pid, holder.owner.host)
                self._write(token)
        except TimeoutError:  # someone is between reading and writing the lock: they win
            raise _locked(self.storage, read_holder(self.storage)) from None
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
        if token is None:
            return
        try:
            with self.storage.exclusive():
                holder = read_holder(self.storage)
                if holder is not None and holder.token == token:
                    self.storage.delete(self._path)
        except (ConfigError, ExternalError, TimeoutError):
            _logger.warning("the lock of %s could not be removed", self.storage.uri)

    def __enter__(self) -> Self:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _beat(self) -> None:
        while not self._stop.wait(self._heartbeat_seconds):
            token = self._token
            if token is None:
                return
            try:
                with self.storage.exclusive():
                    holder = read_holder(self.storage)
                    # None: someone deleted the file, which is still ours, unless we were silent for so long that
                    # another process may have taken the lock over, and given it back.
                    if (holder is None and not self._was_silent()) or (holder and holder.token == token):
                        self._write(token)
                        continue
            except (ConfigError, ExternalError, TimeoutError):
                continue  # a full or absent disk; the next beat tries again
            self._token = None
            _logger.error("another process took over the lock of %s", self.storage.uri)
            if self._on_lost is not None:
                self._on_lost()
            return

    def _was_silent(self) -> bool:
        return (datetime.now(UTC) - self._written).total_seconds() > STALE_SECONDS

    def _write(self, token: str) -> None:
        self.storage.write_text_atomic(self._path, json.dumps(self._holder(token).to_json(), indent=1) + "\n")
        self._written = datetime.now(UTC)

    def _holder(self, token: str) -> LockHolder:
        return LockHolder(self.owner, datetime.now(UTC), token, machine(), birth_mark(self.owner.pid))


def _refuse_object_store(storage: Storage) -> None:
    if storage.scheme in S3_SCHEMES:
        raise ConfigError("STORAGE_ON_OBJECT_STORE", uri=storage.uri)


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

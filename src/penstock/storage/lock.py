"""One run per storage: a lock file with a heartbeat, refused at once, taken over from the dead.

On a disk and in an object store alike, of two processes that take it at the same moment one is refused: see `record`.
"""

from __future__ import annotations

import json
import logging
import os
import shlex
import signal
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self

from penstock.errors import ConfigError, ExternalError, PenstockError, StateError
from penstock.storage.exchange import finish_exchange
from penstock.storage.filesystem import Storage
from penstock.storage.layout import StorageLayout
from penstock.storage.process import birth_mark, machine
from penstock.storage.record import Record, record
from penstock.storage.stores.store import OvertakenError

HEARTBEAT_SECONDS: Final = 10.0
GIVE_UP_SECONDS: Final = 40.0
"""A holder whose heartbeat has failed for so long loses the lock: it must stop before others count it as dead."""

STALE_SECONDS: Final = 60.0
"""A heartbeat older than this is that of a dead holder, for other machines."""

WATCH_SECONDS: Final = 2.5 * HEARTBEAT_SECONDS
"""So long another machine watches such a lock before it takes it over: a clock that is wrong must not do so alone."""

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

    def must_be_watched(self) -> bool:
        """Whether only watching shows that the holder is dead: on another machine, when the clocks do not say alive.

        A heartbeat far in the future says no more than one long ago: the clock of one of the two is wrong.
        """
        ahead = (self.heartbeat - datetime.now(UTC)).total_seconds()
        return self.machine != machine() and abs(ahead) > STALE_SECONDS

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
    """Whether a live run holds the storage's lock, as far as this machine can see; takes nothing."""
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
        return  # taking the lock raises what is wrong with the storage
    if holder is not None and holder.alive() and not holder.must_be_watched():
        raise _locked(opened, holder)


class StorageLock:
    """The right to write to one storage; a context manager.

    While held, a daemon thread renews the heartbeat every 10 s; no exception ends it. The lock is lost when another
    host has taken it over, because this process gave no sign of life for over a minute (a suspended laptop), and when
    the heartbeat could not be renewed for 40 s, after which another host soon may. `on_lost` is called once, in the
    thread that notices; the run must then stop without writing. `lost` says why.
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
        self._renewing = threading.Lock()
        self._attempted = self._renewed = time.monotonic()
        self._written = datetime.now(UTC)
        self.lost: PenstockError | None = None
        """Why the lock is lost: StateError STORAGE_LOCK_LOST, or ExternalError STORAGE_LOCK_NOT_RENEWED."""

    @property
    def held(self) -> bool:
        """Whether this object holds the lock, as far as its last heartbeat knows."""
        return self._token is not None and self.lost is None

    def acquire(self) -> Self:
        """Takes the lock or raises; makes the storage's folder when it is missing.

        At once, except for a holder on another machine that is dead by its clock or this one's: who renews the
        heartbeat within 25 s is alive. Then finishes what a holder that died had begun with a checkpoint: `exchange`.

        Raises:
            StateError: STORAGE_LOCKED (storage, pid, host, since); this
                process itself may be the holder. CHECKPOINT_NOTE_DAMAGED.
            ConfigError: STORAGE_NOT_WRITABLE; for one in an object store as for `StoredObject`.
        """
        if self._token is not None:
            raise _locked(self.storage, self._holder(self._token))
        self.storage.makedirs()
        self._record = record(self.storage, StorageLayout(self.storage.uri).lock)
        token = uuid.uuid4().hex
        silent = self._silent_holder(self._record)
        try:
            with self._record.exclusive():
                holder = _parsed(self._record.read())
                if holder is not None and holder != silent and (holder.alive() or holder.must_be_watched()):
                    raise _locked(self.storage, holder)
                if holder is not None:
                    _logger.info("took over the lock of process %s on %s", holder.owner.pid, holder.owner.host)
                self._write(self._record, token)
        except (TimeoutError, OvertakenError):  # someone is between reading and writing the lock: they win
            holder = read_holder(self.storage)
            if holder is None or holder.token != token:  # else the store's answer to our own write was lost
                raise _locked(self.storage, holder) from None
        self._token, self.lost = token, None
        self._stop.clear()
        thread = threading.Thread(target=self._beat, name="penstock-lock", daemon=True)
        with suppress(RuntimeError):  # no thread can be started: `check` renews the heartbeat
            thread.start()
            self._thread = thread
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
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join(HEARTBEAT_SECONDS)
        token, self._token = self._token, None
        if token is None or self._record is None or (thread is not None and thread.is_alive()):
            return  # not held, or the storage does not answer
        try:
            with self._record.exclusive():
                holder = _parsed(self._record.read())
                if holder is not None and holder.token == token:
                    self._record.clear()
        except Exception:  # noqa: BLE001 - whatever it is, it must not hide why the run ends
            _logger.warning("the lock of %s could not be removed", self.storage.uri)

    def check(self) -> None:
        """Renews a heartbeat that is overdue, and judges one that hangs; called now and then by who holds the lock.

        Does nothing while the thread of the heartbeat works.

        Raises:
            StateError, ExternalError: the lock is lost, see `lost`.
        """
        if self.held:
            now = time.monotonic()
            if now - self._renewed > 2 * self._heartbeat_seconds:
                self._renew()
            # By this clock, and only an attempt that is old itself: a process that was stopped shall try first.
            if min(now - self._renewed, now - self._attempted) > GIVE_UP_SECONDS:
                self._lose(_not_renewed(self.storage, "the storage does not answer"))
        if self.lost is not None:
            raise self.lost

    def __enter__(self) -> Self:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _silent_holder(self, stored: Record) -> LockHolder | None:
        """Returns the holder that must be watched and shows no sign of life; waits for one by this machine's clock."""
        holder = _parsed(stored.read())
        if holder is None or not holder.must_be_watched():
            return None
        began = time.monotonic()
        while (seconds := time.monotonic() - began) < WATCH_SECONDS:
            time.sleep(min(1.0, WATCH_SECONDS - seconds))
            if _parsed(stored.read()) != holder:
                _logger.warning("the clocks of %s and of this machine differ: synchronize them", holder.owner.host)
                return None
        return holder

    def _beat(self) -> None:
        while self.held and not self._stop.is_set():
            with suppress(BaseException):  # no descriptor, thread or memory left: the next beat tries again
                if not self._stop.wait(self._heartbeat_seconds):
                    self._renew()

    def _renew(self) -> None:
        if not self._renewing.acquire(blocking=False):
            return  # the other thread is at it
        try:
            self._attempted = time.monotonic()
            if (token := self._token) is not None and self._record is not None:
                self._renew_as(token, self._record)
        finally:
            self._renewing.release()

    def _renew_as(self, token: str, stored: Record) -> None:
        try:
            with stored.exclusive():
                holder = _parsed(stored.read())
                # None: someone deleted the file, which is still ours, unless we were silent for so long that
                # another process may have taken the lock over, and given it back.
                if (holder is None and not self._was_silent()) or (holder and holder.token == token):
                    self._write(stored, token)
                    return
        except BaseException as failure:  # noqa: BLE001 - whatever it is, the next beat tries again
            if self._silence() > GIVE_UP_SECONDS:
                self._lose(_not_renewed(self.storage, str(failure) or type(failure).__name__))
            return
        self._lose(StateError("STORAGE_LOCK_LOST", storage=self.storage.uri))

    def _lose(self, why: PenstockError) -> None:
        if self.lost is not None:
            return
        self.lost = why
        if self._on_lost is not None:
            self._on_lost()
        _logger.error("%s", why)

    def _silence(self) -> float:
        """How many seconds ago the heartbeat was renewed; the clock of the wall goes on while a machine sleeps."""
        return max(time.monotonic() - self._renewed, (datetime.now(UTC) - self._written).total_seconds())

    def _was_silent(self) -> bool:
        return (datetime.now(UTC) - self._written).total_seconds() > STALE_SECONDS

    def _write(self, stored: Record, token: str) -> None:
        began, moment = time.monotonic(), datetime.now(UTC)  # others count from what is written
        stored.write(json.dumps(self._holder(token).to_json(), indent=1) + "\n")
        self._renewed, self._written = began, moment

    def _holder(self, token: str) -> LockHolder:
        return LockHolder(self.owner, datetime.now(UTC), token, machine(), birth_mark(self.owner.pid))


@contextmanager
def lock_for_command(storage: str) -> Iterator[None]:
    """Holds the storage's lock for a command whose steps can be repeated, and ends the command when the lock is lost.

    The main thread is then interrupted as by Ctrl-C, whatever it waits for; a command in another thread goes on.

    Raises:
        StateError, ConfigError: as for `StorageLock.acquire`.
        StateError, ExternalError: the lock was lost, see `StorageLock.lost`.
    """
    lock = StorageLock(storage, LockOwner.current(), on_lost=_interrupt_main_thread)
    try:
        with lock:
            yield
            lock.check()
    except KeyboardInterrupt:
        if lock.lost is not None:
            raise lock.lost from None
        raise


def _interrupt_main_thread() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _parsed(text: str | None) -> LockHolder | None:
    try:
        return None if text is None else LockHolder.from_json(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _not_renewed(storage: Storage, reason: str) -> ExternalError:
    return ExternalError("STORAGE_LOCK_NOT_RENEWED", storage=storage.uri, reason=reason)


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

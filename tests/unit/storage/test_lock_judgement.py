"""When a lock counts as overdue, lost or dead, by clocks that the tests set, and what whoever is refused learns."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from penstock.errors import ExternalError, StateError
from penstock.storage import LockOwner, Storage, StorageLock, read_holder, refuse_if_locked
from penstock.storage.lock import GIVE_UP_SECONDS, STALE_SECONDS, LockHolder

OWNER = LockOwner(os.getpid(), "build-7", datetime(2026, 1, 1, 8, 30, tzinfo=UTC), "test")
BEAT = 10.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The lock's monotonic clock: `now`, in seconds."""
    told = SimpleNamespace(now=1000.0)
    monkeypatch.setattr("penstock.storage.lock.time", SimpleNamespace(monotonic=lambda: told.now))
    return told


@pytest.fixture
def lock(tmp_path: Path, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> StorageLock:
    """A lock that is held, without the thread that renews it."""
    held = StorageLock(str(tmp_path), OWNER, heartbeat_seconds=BEAT)
    with monkeypatch.context() as failing:
        failing.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError("can't start new thread")))
        return held.acquire()


def _fails(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    monkeypatch.setattr(Storage, "exclusive", Mock(side_effect=error))


def test_check_renews_a_heartbeat_only_when_two_are_overdue(lock: StorageLock, clock: SimpleNamespace) -> None:
    first = read_holder(lock.storage)
    clock.now += 2 * BEAT
    lock.check()
    assert read_holder(lock.storage) == first
    clock.now += 1
    lock.check()
    renewed = read_holder(lock.storage)
    assert first is not None
    assert renewed is not None
    assert renewed == replace(first, heartbeat=renewed.heartbeat)
    assert renewed.heartbeat > first.heartbeat


def test_heartbeat_that_fails_loses_the_lock_only_after_the_time_limit(
    lock: StorageLock, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fails(monkeypatch, OSError("no network"))
    clock.now += GIVE_UP_SECONDS
    lock.check()
    assert lock.held
    clock.now += 1
    with pytest.raises(ExternalError) as caught:
        lock.check()
    assert caught.value.facts == {"storage": lock.storage.uri, "reason": "no network"}
    assert lock.lost is caught.value


def test_attempt_that_hangs_loses_the_lock_only_after_the_time_limit(
    lock: StorageLock, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "_renew", Mock())  # the other thread is at it
    clock.now += GIVE_UP_SECONDS
    lock.check()
    clock.now += 1
    with pytest.raises(ExternalError) as caught:
        lock.check()
    assert caught.value.facts == {"storage": lock.storage.uri, "reason": "the storage does not answer"}


@pytest.mark.parametrize("recent", ["_attempted", "_renewed"])
def test_recent_attempt_or_renewal_keeps_the_lock(
    lock: StorageLock, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, recent: str
) -> None:
    monkeypatch.setattr(lock, "_renew", Mock())
    clock.now += 2 * GIVE_UP_SECONDS
    monkeypatch.setattr(lock, recent, clock.now - 1)
    lock.check()
    assert lock.held


def test_lock_that_was_taken_over_is_logged_and_told_once(
    lock: StorageLock, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []
    monkeypatch.setattr(lock, "_on_lost", lambda: told.append("lost"))
    lock.storage.write_text_atomic("lock.json", "{}")  # the record is no longer ours
    monkeypatch.setattr(lock, "_written", datetime.now(UTC) - timedelta(seconds=2 * STALE_SECONDS))
    clock.now += 2 * BEAT + 1
    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            with pytest.raises(StateError) as caught:
                lock.check()
    assert (caught.value.condition, caught.value.facts) == ("STORAGE_LOCK_LOST", {"storage": lock.storage.uri})
    assert [record.getMessage() for record in caplog.records] == [str(caught.value)]
    assert told == ["lost"]


@pytest.mark.parametrize(("age", "alive"), [(0, True), (STALE_SECONDS, True), (STALE_SECONDS + 1, False)])
def test_holder_on_another_machine_is_alive_up_to_the_stale_age(age: float, *, alive: bool) -> None:
    now = datetime(2026, 1, 1, 9, tzinfo=UTC)
    holder = LockHolder(OWNER, now - timedelta(seconds=age), "token", "elsewhere", None)
    assert holder.alive(now) is alive


def test_record_without_a_time_zone_is_read_as_utc() -> None:
    holder = LockHolder(OWNER, OWNER.started, "token", "elsewhere", None)
    written = {**holder.to_json(), "started": "2026-01-01T08:30:00", "heartbeat": "2026-01-01T10:30:00+02:00"}
    assert LockHolder.from_json(written) == holder
    del written["command"]
    assert LockHolder.from_json(written).owner == replace(OWNER, command="")


def _acquire(storage: str) -> None:
    StorageLock(storage, OWNER).acquire()


@pytest.mark.parametrize("ask", [_acquire, refuse_if_locked])
def test_who_is_refused_learns_who_holds_the_lock(tmp_path: Path, ask: Callable[[str], None]) -> None:
    with StorageLock(str(tmp_path), OWNER), pytest.raises(StateError) as caught:
        ask(str(tmp_path))
    assert caught.value.condition == "STORAGE_LOCKED"
    assert caught.value.facts == {
        "storage": str(tmp_path),
        "pid": str(OWNER.pid),
        "host": "build-7",
        "since": "2026-01-01T08:30:00+00:00",
    }


def test_lock_that_another_process_is_taking_in_this_moment_has_no_known_holder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fails(monkeypatch, TimeoutError())
    lock = StorageLock(str(tmp_path), OWNER)
    with pytest.raises(StateError) as caught:
        lock.acquire()
    assert caught.value.facts == {"storage": str(tmp_path), "pid": "unknown", "host": "unknown", "since": "now"}
    assert not lock.held


def test_owner_is_this_process_with_its_host_and_the_given_command() -> None:
    owner = LockOwner.current("penstock run")
    assert (owner.pid, owner.host, owner.command) == (os.getpid(), socket.gethostname(), "penstock run")
    assert owner.started.tzinfo is UTC


def test_heartbeat_that_comes_after_the_release_takes_nothing(lock: StorageLock) -> None:
    lock.release()
    lock._renew()
    assert read_holder(lock.storage) is None


def test_error_of_a_renewal_does_not_end_the_heartbeat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    again = threading.Event()
    lock = StorageLock(str(tmp_path), OWNER, heartbeat_seconds=0.01)
    monkeypatch.setattr(lock, "_renew", _fails_once(again))
    with lock:
        assert again.wait(5)


def _fails_once(again: threading.Event) -> Callable[[], None]:
    calls = iter([True])

    def renew() -> None:
        if next(calls, False):
            raise MemoryError
        again.set()

    return renew

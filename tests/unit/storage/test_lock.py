"""The lock, with real processes that are killed and stopped."""

from __future__ import annotations

import json
import logging
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import Mock

import pytest

from penstock.errors import ConfigError, ExternalError, StateError
from penstock.storage import (
    LockOwner,
    Storage,
    StorageLayout,
    StorageLock,
    is_locked,
    lock_for_command,
    read_holder,
    refuse_if_locked,
)
from penstock.storage.lock import GIVE_UP_SECONDS, HEARTBEAT_SECONDS, STALE_SECONDS
from penstock.storage.record import record

HOLD = """
import sys
from penstock.storage import LockOwner, StorageLock
with StorageLock(sys.argv[1], LockOwner.current("penstock run")):
    print("held", flush=True)
    sys.stdin.read()
"""
OWNER = LockOwner(os.getpid(), "here", datetime(2026, 1, 1, tzinfo=UTC), "test")


@contextmanager
def another_run(storage: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, str(storage)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def refused(storage: Path) -> StateError:
    began = time.monotonic()
    with pytest.raises(StateError) as caught:
        StorageLock(str(storage), OWNER).acquire()
    assert time.monotonic() - began < 10
    assert caught.value.condition == "STORAGE_LOCKED"
    assert caught.value.exit_code == 3
    return caught.value


def test_a_live_run_is_left_alone_stopped_or_not_and_a_killed_one_taken_over(tmp_path: Path) -> None:
    with another_run(tmp_path) as process:
        error = refused(tmp_path)
        assert error.facts["pid"] == str(process.pid)
        assert error.facts["storage"] == str(tmp_path)
        assert error.facts["host"]
        assert datetime.fromisoformat(error.facts["since"]).tzinfo is not None

        process.send_signal(signal.SIGSTOP)
        rewrite(tmp_path, heartbeat=(datetime.now(UTC) - timedelta(hours=1)).isoformat())
        assert is_locked(Storage(str(tmp_path)))
        refused(tmp_path)

        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # a zombie from here on
        assert not is_locked(Storage(str(tmp_path)))
        StorageLock(str(tmp_path), OWNER).acquire().release()


def test_a_run_that_ends_gives_the_lock_back(tmp_path: Path) -> None:
    with another_run(tmp_path) as process:
        process.communicate("", timeout=5)
        assert process.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_the_same_process_is_refused_too(tmp_path: Path) -> None:
    lock = StorageLock(str(tmp_path), LockOwner.current())
    with lock:
        assert refused(tmp_path).facts["pid"] == str(os.getpid())
        with pytest.raises(StateError):
            lock.acquire()
        assert lock.held
    lock.release()
    assert not is_locked(Storage(str(tmp_path)))
    with lock:
        assert is_locked(Storage(str(tmp_path)))


def test_a_pid_that_was_reused_holds_nothing(tmp_path: Path) -> None:
    with StorageLock(str(tmp_path), LockOwner.current()):
        rewrite(tmp_path, birth="1")
        with StorageLock(str(tmp_path), OWNER) as other:
            assert other.held


@pytest.mark.parametrize(("age", "alive"), [(30, True), (90, False)])
def test_on_another_machine_the_heartbeat_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age: float, *, alive: bool
) -> None:
    with StorageLock(str(tmp_path), LockOwner.current()):
        rewrite(tmp_path, machine="elsewhere", heartbeat=(datetime.now(UTC) - timedelta(seconds=age)).isoformat())
        if alive:
            refused(tmp_path)
        else:
            monkeypatch.setattr("penstock.storage.lock.WATCH_SECONDS", 0.2)
            with StorageLock(str(tmp_path), OWNER) as other:
                assert other.held


@pytest.mark.parametrize("ahead", [-3600, 3600], ids=["behind", "ahead"])
def test_clock_of_another_machine_neither_takes_a_living_lock_nor_keeps_a_dead_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, ahead: float
) -> None:
    def beat(counted: int) -> None:
        heartbeat = datetime.now(UTC) + timedelta(seconds=ahead + counted)
        rewrite(tmp_path, machine="elsewhere", heartbeat=heartbeat.isoformat())

    monkeypatch.setattr("penstock.storage.lock.WATCH_SECONDS", 1.5)
    with StorageLock(str(tmp_path), LockOwner.current()):
        beat(0)
        alive = threading.Timer(0.3, beat, [1])
        alive.start()
        with caplog.at_level(logging.WARNING):
            refused(tmp_path)
        alive.join()
        assert "clocks of" in caplog.text
        with StorageLock(str(tmp_path), OWNER) as other:
            assert other.held, "nobody has renewed it meanwhile"


def test_the_heartbeat_is_renewed(tmp_path: Path) -> None:
    with StorageLock(str(tmp_path), LockOwner.current(), heartbeat_seconds=0.02):
        first = content(tmp_path)["heartbeat"]
        until(lambda: content(tmp_path)["heartbeat"] != first)


def test_a_lock_that_was_taken_over_is_noticed_and_not_taken_back(tmp_path: Path) -> None:
    lost = threading.Event()
    with StorageLock(str(tmp_path), LockOwner.current(), heartbeat_seconds=0.02, on_lost=lost.set) as lock:
        thief = dict(content(tmp_path), token="other", machine="elsewhere")
        Storage(str(tmp_path)).write_text_atomic("lock.json", json.dumps(thief))
        if not lost.wait(0.2):  # a beat may have been between its reading and its writing
            Storage(str(tmp_path)).write_text_atomic("lock.json", json.dumps(thief))
        assert lost.wait(5)
        assert not lock.held
    assert content(tmp_path)["token"] == "other"


def test_the_lock_of_another_holder_is_not_released(tmp_path: Path) -> None:
    with StorageLock(str(tmp_path), LockOwner.current()):  # between two heartbeats, so it does not know
        thief = dict(content(tmp_path), token="other", machine="elsewhere")
        Storage(str(tmp_path)).write_text_atomic("lock.json", json.dumps(thief))
    assert content(tmp_path)["token"] == "other"


def test_a_lock_file_that_was_deleted_comes_back(tmp_path: Path) -> None:
    with StorageLock(str(tmp_path), LockOwner.current(), heartbeat_seconds=0.02):
        Storage(str(tmp_path)).delete("lock.json")
        until((tmp_path / "lock.json").exists)


def test_after_a_long_silence_a_lock_that_is_gone_was_taken_over_and_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.storage.lock.STALE_SECONDS", 0.05)
    lost = threading.Event()
    with StorageLock(str(tmp_path), LockOwner.current(), heartbeat_seconds=0.3, on_lost=lost.set) as lock:
        Storage(str(tmp_path)).delete("lock.json")
        assert lost.wait(5)
        assert not lock.held
    assert not (tmp_path / "lock.json").exists()


@pytest.mark.parametrize(
    "failure", [OSError(24, "Too many open files"), RuntimeError("can't start new thread"), MemoryError(), SystemExit()]
)
def test_no_exception_ends_the_heartbeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    failed: list[BaseException] = []

    def fail(_self: Storage) -> NoReturn:
        failed.append(failure)
        raise failure

    with StorageLock(str(tmp_path), LockOwner.current(), heartbeat_seconds=0.02) as lock:
        with monkeypatch.context() as failing:
            failing.setattr(Storage, "exclusive", fail)
            until(lambda: len(failed) > 2)
        after = content(tmp_path)["heartbeat"]
        until(lambda: content(tmp_path)["heartbeat"] > after)
        lock.check()


def test_a_heartbeat_that_fails_for_too_long_loses_the_lock_before_another_host_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert GIVE_UP_SECONDS + HEARTBEAT_SECONDS < STALE_SECONDS
    monkeypatch.setattr("penstock.storage.lock.GIVE_UP_SECONDS", 0.1)
    lost = threading.Event()
    lock = StorageLock(str(tmp_path), LockOwner.current(), heartbeat_seconds=0.02, on_lost=lost.set)
    with lock, monkeypatch.context() as failing:
        failing.setattr(Storage, "write_text_atomic", Mock(side_effect=OSError(24, "Too many open files")))
        assert lost.wait(5)
        assert not lock.held
        with pytest.raises(ExternalError, match=r"for 40 seconds .*Too many open files"):
            lock.check()
    assert not is_locked(Storage(str(tmp_path))), "it was ours to the end"


def test_a_command_that_waits_ends_when_another_run_takes_the_storage_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.storage.lock.StorageLock", partial(StorageLock, heartbeat_seconds=0.02))

    def wait_for_spark() -> None:
        threading.Thread(target=take_over, args=[tmp_path]).start()
        time.sleep(20)

    with pytest.raises(StateError) as caught, lock_for_command(str(tmp_path)):
        wait_for_spark()
    assert caught.value.condition == "STORAGE_LOCK_LOST"
    assert content(tmp_path)["token"] == "of another run"


def test_a_command_that_is_interrupted_by_a_person_says_nothing_of_the_lock(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), lock_for_command(str(tmp_path)):
        raise KeyboardInterrupt
    assert not is_locked(Storage(str(tmp_path)))


def test_a_clock_of_the_wall_that_goes_on_while_the_machine_sleeps_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with StorageLock(str(tmp_path), LockOwner.current(), heartbeat_seconds=0.02) as lock:
        monkeypatch.setattr(lock, "_record", Mock(exclusive=Mock(side_effect=OSError("no network yet"))))
        monkeypatch.setattr(lock, "_written", datetime.now(UTC) - timedelta(hours=1))
        until(lambda: lock.lost is not None)
        assert lock.lost is not None
        assert lock.lost.condition == "STORAGE_LOCK_NOT_RENEWED"


def test_who_holds_the_lock_renews_the_heartbeat_when_no_thread_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = StorageLock(str(tmp_path), LockOwner.current(), heartbeat_seconds=0.01)
    with monkeypatch.context() as failing:
        failing.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError("can't start new thread")))
        lock.acquire()
    first = content(tmp_path)["heartbeat"]
    time.sleep(0.05)
    assert content(tmp_path)["heartbeat"] == first
    lock.check()
    assert content(tmp_path)["heartbeat"] > first
    lock.release()
    assert not is_locked(Storage(str(tmp_path)))


def test_a_heartbeat_that_hangs_is_noticed_by_who_holds_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.storage.lock.GIVE_UP_SECONDS", 0.1)
    answered = threading.Event()
    with StorageLock(str(tmp_path), LockOwner.current(), heartbeat_seconds=0.02) as lock, monkeypatch.context() as hung:
        hung.setattr(Storage, "exclusive", lambda _self: answered.wait())
        time.sleep(0.3)
        with pytest.raises(ExternalError, match="STORAGE_LOCK_NOT_RENEWED"):
            lock.check()
        answered.set()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}'])
def test_a_damaged_lock_file_holds_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "lock.json").write_text(text)
    assert read_holder(Storage(str(tmp_path))) is None
    with StorageLock(str(tmp_path), OWNER) as lock:
        assert lock.held


def test_of_many_at_once_one_wins(tmp_path: Path) -> None:
    barrier = threading.Barrier(8)
    locks = [StorageLock(str(tmp_path), LockOwner.current()) for _ in range(8)]
    won: list[StorageLock] = []
    lost: list[str] = []

    def compete(lock: StorageLock) -> None:
        barrier.wait()
        try:
            won.append(lock.acquire())
        except StateError as error:
            lost.append(error.condition)

    threads = [threading.Thread(target=compete, args=(lock,)) for lock in locks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert lost == ["STORAGE_LOCKED"] * 7
    won[0].release()


def test_a_storage_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError) as caught:
        StorageLock(f"{tmp_path}/file/storage", OWNER).acquire()
    assert caught.value.condition == "STORAGE_NOT_WRITABLE"
    assert caught.value.facts["path"] == f"{tmp_path}/file/storage"
    assert caught.value.exit_code == 2


def test_looking_at_the_lock_makes_nothing(tmp_path: Path) -> None:
    storage = Storage(f"{tmp_path}/none")
    assert read_holder(storage) is None
    assert not is_locked(storage)
    assert list(tmp_path.iterdir()) == []


def take_over(storage: Path) -> None:
    """Writes into the lock as a run on another host, which takes this one for dead."""
    stored = record(Storage(str(storage)), str(storage / "lock.json"))
    with stored.exclusive():
        stored.write(json.dumps(content(storage) | {"token": "of another run"}))


def content(storage: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((storage / "lock.json").read_text())
    return value


def rewrite(storage: Path, **changes: str) -> None:
    Storage(str(storage)).write_text_atomic("lock.json", json.dumps(dict(content(storage), **changes)))


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_early_look_refuses_what_the_lock_would_and_leaves_a_broken_storage_to_it(tmp_path: Path) -> None:
    refuse_if_locked(str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()
    with another_run(tmp_path), pytest.raises(StateError, match="STORAGE_LOCKED"):
        refuse_if_locked(str(tmp_path))
    (tmp_path / "file").touch()
    refuse_if_locked(str(tmp_path / "file" / "storage"))


def test_values_on_the_command_line_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["penstock", "run", "--set", "password=canary", "--set=key=canary", "--env", "prod"]
    monkeypatch.setattr(sys, "argv", words)
    with StorageLock(str(tmp_path), LockOwner.current()):
        assert "canary" not in Path(StorageLayout(str(tmp_path)).lock).read_text()
        holder = read_holder(Storage(str(tmp_path)))
    assert holder is not None
    assert shlex.split(holder.owner.command) == ["penstock", "run", "--set", "password=…", "--set=…", "--env", "prod"]

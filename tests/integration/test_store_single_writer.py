"""A storage in an object store: one run at a time, from whatever machine, and its event log."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.integration.store_server import SERVERS, StoreServer, store_server, used_by_this_process
from tests.processes import wait_until

from penstock.errors import ConfigError, ExternalError, StateError
from penstock.events import EventLog, EventType, read_events
from penstock.storage import LockOwner, Storage, StorageLayout, StorageLock, read_holder
from penstock.storage.lock import LockHolder, is_locked, refuse_if_locked
from penstock.storage.stores.azure import client as azure_client
from penstock.storage.stores.gcs import client as gcs_client
from penstock.storage.stores.growing_object import GrowingObject
from penstock.storage.stores.s3 import objects as s3_objects
from penstock.storage.stores.settings import use_store_settings
from penstock.storage.stores.store import ABSENT, OvertakenError, StoredObject
from penstock.storage.stores.stores import store_of

OWNER = LockOwner(4711, "elsewhere", datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture(scope="module", params=SERVERS)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreServer]:
    with store_server(request.param, tmp_path_factory.mktemp("store")) as server, used_by_this_process(server):
        yield server


@pytest.fixture(autouse=True)
def watched_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock of another machine is watched for a second before it is taken over."""
    monkeypatch.setattr("penstock.storage.lock.WATCH_SECONDS", 1.0)


def stored_object(uri: str) -> StoredObject:
    store = store_of(uri)
    assert store is not None
    return store.stored_object(uri)


def held_elsewhere(storage: str, *, seconds_ago: float) -> None:
    """Writes the lock of a run on another machine, whose last sign of life was so long ago."""
    holder = LockHolder(OWNER, datetime.now(UTC) - timedelta(seconds=seconds_ago), "token", "another machine", "1")
    Storage(storage).write_text_atomic(StorageLayout(storage).lock, json.dumps(holder.to_json()))


def test_one_run_at_a_time(store: StoreServer) -> None:
    storage = store.bucket("locked") + "/storage"
    with StorageLock(storage, OWNER) as lock:
        assert lock.held
        assert is_locked(Storage(storage))
        for action in (lambda: refuse_if_locked(storage), lambda: StorageLock(storage).acquire()):
            with pytest.raises(StateError) as caught:
                action()
            assert caught.value.condition == "STORAGE_LOCKED"
            assert caught.value.facts["host"] == "elsewhere"
    assert read_holder(Storage(storage)) is None
    with StorageLock(storage):
        assert is_locked(Storage(storage))


def test_of_many_at_once_one_takes_it(store: StoreServer) -> None:
    storage = store.bucket("raced") + "/storage"
    held_elsewhere(storage, seconds_ago=61)
    ready, taken, refused = threading.Barrier(8), list[StorageLock](), list[StateError]()

    def take() -> None:
        lock = StorageLock(storage)
        ready.wait()
        try:
            taken.append(lock.acquire())
        except StateError as error:
            refused.append(error)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(taken), {error.condition for error in refused}, len(refused)) == (1, {"STORAGE_LOCKED"}, 7)
    taken[0].release()


def test_a_run_elsewhere_is_let_alone_for_a_minute_without_a_sign_of_life(store: StoreServer) -> None:
    storage = store.bucket("minute") + "/storage"
    held_elsewhere(storage, seconds_ago=50)
    with pytest.raises(StateError, match="STORAGE_LOCKED"):
        StorageLock(storage).acquire()
    held_elsewhere(storage, seconds_ago=70)
    with StorageLock(storage) as lock:
        holder = read_holder(Storage(storage))
        assert holder is not None
        assert holder.owner == lock.owner


def test_a_clock_that_is_an_hour_ahead_takes_no_living_lock(store: StoreServer) -> None:
    storage = store.bucket("skewed") + "/storage"
    held_elsewhere(storage, seconds_ago=3600)
    alive = threading.Timer(0.3, lambda: held_elsewhere(storage, seconds_ago=3599))
    alive.start()
    with pytest.raises(StateError, match="STORAGE_LOCKED"):
        StorageLock(storage).acquire()
    alive.join()


def test_a_run_that_was_overtaken_is_told(store: StoreServer) -> None:
    storage = store.bucket("overtaken") + "/storage"
    lost = threading.Event()
    lock = StorageLock(storage, on_lost=lost.set, heartbeat_seconds=0.05).acquire()
    first = read_holder(Storage(storage))
    wait_until(lambda: read_holder(Storage(storage)) != first, what="a sign of life", timeout=20)
    held_elsewhere(storage, seconds_ago=0)
    assert lost.wait(10)
    assert not lock.held
    lock.release()
    holder = read_holder(Storage(storage))
    assert holder is not None
    assert holder.owner.host == "elsewhere"


def test_a_lock_whose_answer_is_lost_is_ours(store: StoreServer, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = store.bucket("answer") + "/storage"
    kind = type(stored_object(f"{storage}/lock"))
    written = kind.put_over

    def twice(self: StoredObject, content: bytes, version: str) -> str:  # as the client does that got no answer
        written(self, content, version)
        return written(self, content, version)

    with monkeypatch.context() as patched:
        patched.setattr(kind, "put_over", twice)
        lock = StorageLock(storage).acquire()
    assert lock.held
    lock.release()
    assert not is_locked(Storage(storage))


def test_an_object_is_put_over_its_version_only(store: StoreServer) -> None:
    uri = store.bucket("versions") + "/a b?#%41"
    stored, other = stored_object(uri), stored_object(uri)
    assert stored.read() == (b"", ABSENT)
    version = stored.put_over(b"1", ABSENT)
    assert other.read() == (b"1", version)
    with pytest.raises(OvertakenError):
        other.put_over(b"2", ABSENT)
    newer = other.put_over(b"2", version)
    with pytest.raises(OvertakenError):
        stored.put_over(b"3", version)
    store.delete("versions", "a b?#%41")
    with pytest.raises(OvertakenError):
        stored.put_over(b"3", newer)


def open_log(storage: str) -> EventLog:
    return EventLog.open(storage, pipeline_name="shop", update_id="u")


def written(storage: str) -> list[str]:
    return [event.message for event in read_events(storage)]


def test_events_are_there_a_second_later_and_a_second_run_goes_on_behind_them(store: StoreServer) -> None:
    storage = store.bucket("events") + "/storage"
    with open_log(storage) as log:
        log.append(EventType.USER_ACTION, "first", {})
        wait_until(lambda: written(storage) == ["first"], what="the first event", timeout=20)
        log.append(EventType.UPDATE_PROGRESS, "second", {})
        wait_until(lambda: written(storage) == ["first", "second"], what="the second event", timeout=20)
        log.append(EventType.UPDATE_PROGRESS, "third", {})
    assert written(storage) == ["first", "second", "third"]
    with open_log(storage) as log:
        assert log.next_sequence == 3
        log.append(EventType.USER_ACTION, "fourth", {})
    assert written(storage) == ["first", "second", "third", "fourth"]
    assert [key for key in store.keys("events") if key.endswith(".jsonl")] == [
        "storage/events/000001-0001.jsonl",
        "storage/events/000002-0001.jsonl",
    ]


def test_a_long_log_has_many_segments(store: StoreServer) -> None:
    storage = store.bucket("segments") + "/storage"
    text = "x" * 300_000
    with open_log(storage) as log:
        for _ in range(8):
            log.append(EventType.UPDATE_PROGRESS, text, {})
    assert len(written(storage)) == 8
    assert len(store.keys("segments")) == 2


def test_an_object_that_is_there_is_not_written_over(store: StoreServer) -> None:
    uri = store.bucket("twice") + "/log"
    GrowingObject(stored_object(uri)).close()
    with pytest.raises(FileExistsError):
        GrowingObject(stored_object(uri))


def test_lines_wait_for_a_store_that_fails_and_a_minute_later_it_is_an_error(store: StoreServer) -> None:
    uri = store.bucket("away") + "/log"
    with_patience = GrowingObject(stored_object(uri), pause=0.01)
    without = GrowingObject(stored_object(f"{uri}2"), pause=0.01, patience=0)
    for key in store.keys("away"):
        store.delete("away", key)
    store.delete_bucket("away")
    for log in (with_patience, without):
        log.write(b"1\n")
    wait_until(lambda: without._failing_since is not None, what="a failed request", timeout=20)
    with pytest.raises(OSError, match="OBJECT_STORE_BUCKET_NOT_FOUND"):
        without.write(b"2\n")
    with pytest.raises(OSError, match="OBJECT_STORE_BUCKET_NOT_FOUND"):
        without.close()
    with_patience.write(b"2\n")
    store.bucket("away")
    # The request that waited for the bucket may have the first line alone.
    wait_until(lambda: stored_object(uri).read()[0] == b"1\n2\n", what="both lines", timeout=20)
    with_patience.close()


def test_a_store_that_refuses_is_told_at_once(store: StoreServer) -> None:
    storage = store.bucket("secret") + "/storage"
    with store.refusing() as settings:
        use_store_settings(lambda: settings)
        try:
            for action in (lambda: StorageLock(storage).acquire(), lambda: open_log(storage)):
                with pytest.raises(ConfigError) as caught:
                    action()
                assert caught.value.condition == "OBJECT_STORE_ACCESS_DENIED"
        finally:
            use_store_settings(store.settings)
    with pytest.raises(ConfigError) as caught:
        StorageLock(f"{store.missing}/storage").acquire()
    assert caught.value.condition == "OBJECT_STORE_BUCKET_NOT_FOUND"


def test_a_store_that_is_away(store: StoreServer) -> None:
    settings = store.settings_at("127.0.0.1:9")
    use_store_settings(lambda: settings)
    try:
        with pytest.raises(ExternalError) as caught:
            StorageLock(f"{store.missing}/storage").acquire()
    finally:
        use_store_settings(store.settings)
    assert caught.value.condition == "STORAGE_FAILED"


class _Busy(BaseHTTPRequestHandler):
    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD = do_PUT = _answer  # noqa: N815 - the names of the standard library

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - as above
        return


def test_a_store_that_is_busy_is_worth_another_try(store: StoreServer) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Busy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings = store.settings_at(f"127.0.0.1:{server.server_port}")
        use_store_settings(lambda: settings)
        try:
            with pytest.raises(ExternalError) as caught:
                StorageLock(f"{store.missing}/storage").acquire()
        finally:
            use_store_settings(store.settings)
            server.shutdown()
    assert (caught.value.condition, caught.value.retryable) == ("STORAGE_FAILED", True)


def test_without_the_client_the_command_is_named(store: StoreServer, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = store.bucket("bare") + "/storage"
    s3_objects._client.cache_clear()
    azure_client._service.cache_clear()
    gcs_client._session.cache_clear()
    clients = ("botocore", "botocore.session", "azure.core.credentials", "azure.storage.blob")
    for name in (*clients, "google.auth.transport.requests"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError) as caught:
        StorageLock(storage).acquire()
    assert caught.value.condition == "STORAGE_EXTRA_MISSING"
    assert caught.value.facts["extra"] in caught.value.fix

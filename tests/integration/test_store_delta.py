"""Delta tables in object stores on loopback, without Spark: opened, written by two at once, and refused by name."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from deltalake.exceptions import DeltaError
from tests.integration.store_server import QUICK_SERVERS, StoreServer, store_server, used_by_this_process
from tests.shallow_clone import shallow_clone

from penstock.dashboard.stored_tables import StoredTables
from penstock.errors import ConfigError, ExternalError, StateError
from penstock.graph.identifier import Identifier
from penstock.observe.stored.tables import StoredTable, read_table
from penstock.spark.delta.quick_append import append
from penstock.storage import Storage
from penstock.storage.delta.data_files import missing_data_files
from penstock.storage.delta.log import log_damage, remove_unfinished_log
from penstock.storage.delta.table import all_rows, has_delta_log, is_delta_table, open_delta_table, storage_options
from penstock.storage.stores.settings import use_store_settings

ROWS = pa.table({"id": [1, 2]})


@pytest.fixture(scope="module", params=QUICK_SERVERS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreServer]:
    with store_server(request.param, tmp_path_factory.mktemp("store")) as started:
        yield started


@pytest.fixture
def store(server: StoreServer) -> Iterator[StoreServer]:
    with used_by_this_process(server):
        yield server


@pytest.fixture
def folder() -> str:
    """Where a table lies in a bucket; with letters that a URI has not."""
    return "a b/orders=ü"


def table(place: str) -> str:
    write_deltalake(place, ROWS, storage_options=storage_options(place))
    return place


def test_a_table_is_opened_by_its_place(store: StoreServer, folder: str) -> None:
    place = f"{store.bucket('opened')}/{folder}"
    assert (is_delta_table(place), has_delta_log(place)) == (False, False)
    with pytest.raises(DeltaError):
        open_delta_table(place)
    table(place)
    assert (is_delta_table(place), has_delta_log(place)) == (True, True)
    append(open_delta_table(place), ROWS, ("query", 3))
    append(open_delta_table(place), ROWS, ("query", 3))  # again, after a crash
    opened = open_delta_table(place)
    assert (opened.version(), opened.transaction_version("query"), opened.count()) == (1, 3, 4)
    assert open_delta_table(place, version=0).count() == 2
    assert log_damage(opened, place) is None
    remove_unfinished_log(place)
    assert open_delta_table(place).count() == 4
    Storage(place).delete("_delta_log")
    Storage(place).delete("")
    assert not [key for key in store.keys("opened") if "orders" in key and not key.endswith("/")]


def test_no_commit_of_writers_at_once_is_lost(store: StoreServer) -> None:
    place = table(f"{store.bucket('busy')}/orders")

    def write(writer: int) -> None:
        for batch in range(4):
            append(open_delta_table(place), pa.table({"id": [writer * 100 + batch]}), (str(writer), batch))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, range(1, 4)))
    assert open_delta_table(place).version() == 12
    assert open_delta_table(place).count() == 14


def test_a_data_file_that_is_gone_is_named(store: StoreServer, folder: str) -> None:
    place = table(f"{store.bucket('holes')}/{folder}")
    assert missing_data_files(open_delta_table(place), place, "shop.orders") is None
    [key] = [key for key in store.keys("holes") if key.endswith(".parquet")]
    store.delete("holes", key)
    missing = missing_data_files(open_delta_table(place), place, "shop.orders")
    assert missing is not None
    assert (missing.condition, missing.facts["missing"]) == ("DATA_FILES_MISSING", "1")


def test_a_shallow_clone_is_read_within_its_bucket(store: StoreServer, folder: str) -> None:
    source, clone = table(f"{store.bucket('cloned')}/{folder}"), f"{store.bucket('clones')}/{folder}"
    beside = f"{source} clone"
    for place in (clone, beside):
        shallow_clone(source, place)
        assert missing_data_files(open_delta_table(place), place, "shop.orders") is None
    assert all_rows(open_delta_table(beside)).num_rows == 2
    assert read_table(StoredTable(Identifier("shop", "orders"), beside), limit=5).rows == ((1,), (2,))
    with pytest.raises(StateError) as caught:
        read_table(StoredTable(Identifier("shop", "orders"), clone), limit=5)
    assert (caught.value.condition, caught.value.facts["place"]) == ("TABLE_IN_ANOTHER_STORE", source)
    [key] = [key for key in store.keys("cloned") if key.endswith(".parquet")]
    store.delete("cloned", key)
    for place in (clone, beside):
        assert missing_data_files(open_delta_table(place), place, "shop.orders") is not None


def test_what_the_store_refuses_is_told(store: StoreServer) -> None:
    place = table(f"{store.bucket('closed')}/orders")
    for look in (is_delta_table, open_delta_table):
        with pytest.raises(ConfigError) as caught:
            look(f"{store.missing}/orders")
        assert caught.value.condition == "OBJECT_STORE_BUCKET_NOT_FOUND"
        with store.refusing() as settings:
            use_store_settings(functools.partial(dict, settings))
            with pytest.raises(ConfigError) as caught:
                look(place)
        assert caught.value.condition == "OBJECT_STORE_ACCESS_DENIED"
        assert place in str(caught.value.facts["detail"])
        use_store_settings(store.settings)


def test_without_credentials_none_is_waited_for(store: StoreServer, monkeypatch: pytest.MonkeyPatch) -> None:
    place = table(f"{store.bucket('unknown')}/orders")
    settings = {key: value for key, value in store.settings().items() if ".key" not in key}
    use_store_settings(lambda: settings)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    started = time.monotonic()
    with pytest.raises(ConfigError) as caught:
        is_delta_table(place)
    assert caught.value.condition == "OBJECT_STORE_CREDENTIALS_MISSING", caught.value.facts
    assert time.monotonic() - started < 10


def test_a_store_that_is_away_is_waited_for(store: StoreServer) -> None:
    use_store_settings(lambda: store.settings_at("127.0.0.1:1"))
    with pytest.raises(ExternalError) as caught:
        is_delta_table(f"{store.missing}/orders")
    assert caught.value.condition == "STORAGE_FAILED"
    assert caught.value.retryable


def test_the_dashboard_reads_with_the_settings_of_the_pipeline(store: StoreServer, tmp_path: object) -> None:
    place = table(f"{store.bucket('seen')}/orders")
    answer = StoredTables(str(tmp_path)).read("table", name="shop.orders", path=place, version=None)
    assert (answer["error"], sorted(answer["rows"]), len(answer["versions"])) == (None, [["1"], ["2"]], 1)
    quarantine = StoredTables(str(tmp_path)).read("quarantine", name="shop.orders", path=place)
    assert quarantine["none"]

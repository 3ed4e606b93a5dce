"""A storage in HDFS: what all stores do, by the same tests, and what only HDFS does."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.cli_runner import penstock, running
from tests.faults.killing import VICTIMS, kill
from tests.integration.hdfs_server import HdfsServer
from tests.integration.test_quickstart import assert_same_tables
from tests.integration.test_store_delta import (  # noqa: F401 - they are run here, with the store of this module
    test_a_data_file_that_is_gone_is_named,
    test_a_table_is_opened_by_its_place,
    test_no_commit_of_writers_at_once_is_lost,
)
from tests.integration.test_store_files import (  # noqa: F401
    test_a_folder_is_moved_and_deleted_with_all_that_it_holds,
    test_files_are_listed_found_read_moved_and_deleted,
    test_files_that_were_read_leave_the_source,
)
from tests.integration.test_store_single_writer import (  # noqa: F401
    test_a_lock_whose_answer_is_lost_is_ours,
    test_a_long_log_has_many_segments,
    test_a_run_elsewhere_is_let_alone_for_a_minute_without_a_sign_of_life,
    test_a_run_that_was_overtaken_is_told,
    test_an_object_is_put_over_its_version_only,
    test_an_object_that_is_there_is_not_written_over,
    test_events_are_there_a_second_later_and_a_second_run_goes_on_behind_them,
    test_of_many_at_once_one_takes_it,
    test_one_run_at_a_time,
)
from tests.projects import one_file_a_batch, orders_project

from penstock.errors import ConfigError, ExternalError
from penstock.storage import Storage, StorageLock
from penstock.storage.delta.table import is_delta_table, open_delta_table
from penstock.storage.stores.hdfs import client
from penstock.storage.stores.hdfs.objects import HdfsFile


@pytest.fixture(scope="module")
def store(hdfs: HdfsServer) -> HdfsServer:
    return hdfs


@pytest.fixture
def folder() -> str:
    return "orders=1"


def test_the_work_of_a_writer_that_died_is_finished(store: HdfsServer) -> None:
    """Between the name of the version and the file's own, as the docstring of `objects` says."""
    uri = store.bucket("died") + "/lock"
    file = HdfsFile(uri)
    version = file.put_over(b"1", "")
    store.put("died", f".lock.after-{version}", [{"by": "the dead"}])
    with pytest.raises(Exception, match="died/lock"):
        file.put_over(b"2", version)
    content, version = file.read()
    assert content == b'{"by": "the dead"}\n'
    file.put_over(b"2", version)
    assert file.read()[0] == b"2"
    assert store.keys("died") == ["lock"]


def test_a_late_writer_leaves_nothing(store: HdfsServer) -> None:
    file = HdfsFile(store.bucket("late") + "/lock")
    first = file.put_over(b"1", "")
    file.put_over(b"2", first)
    with pytest.raises(Exception, match="late/lock"):
        file.put_over(b"3", first)
    assert (store.keys("late"), file.read()[0]) == (["lock"], b"2")


def test_what_is_refused_is_told(store: HdfsServer) -> None:
    uri = store.bucket("closed") + "/storage"
    with store.another_user("closed"):
        for action in (lambda: Storage(uri).list("in"), lambda: StorageLock(uri).acquire()):
            with pytest.raises(ConfigError) as caught:
                action()
            assert caught.value.condition == "OBJECT_STORE_ACCESS_DENIED"
            assert "user=stranger" in str(caught.value.facts["detail"])


def test_a_name_node_that_is_away() -> None:
    with pytest.raises(ExternalError) as caught:
        StorageLock("hdfs://127.0.0.1:9/storage").acquire()
    assert caught.value.condition == "STORAGE_FAILED"


def test_without_the_client_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    client._client.cache_clear()
    monkeypatch.setitem(sys.modules, "hdfs_native", None)
    with pytest.raises(ConfigError) as caught:
        StorageLock("hdfs://127.0.0.1:9/storage").acquire()
    assert caught.value.condition == "STORAGE_EXTRA_MISSING"
    assert "penstock[hdfs]" in caught.value.fix


@pytest.mark.usefixtures("one_process")
@pytest.mark.timeout(600)
def test_a_pipeline_has_its_source_and_its_storage_there(store: HdfsServer, tmp_path: Path) -> None:
    lake = store.bucket("small")
    first, second = tmp_path / "first", tmp_path / "second"  # as on two machines
    first.mkdir()
    (first / "pipeline.py").write_text(
        "import dlt\nfrom pyspark.sql import functions as f\n\n"
        "@dlt.table\n@dlt.expect_or_quarantine('positive', 'id > 0')\ndef numbers():\n"
        "    files = spark.readStream.format('cloudFiles').option('cloudFiles.format', 'json')\n"
        f"    return files.schema('id LONG').load('{lake}/in')\n\n"
        "@dlt.table\ndef total():\n    return spark.read.table('numbers').agg(f.sum('id').alias('total'))\n"
    )
    (first / "penstock.yml").write_text(f"name: small\nstorage: {lake}/storage\n")
    store.put("small", "in/1.json", [{"id": 1}, {"id": -1}])
    penstock("run", first, timeout=400).expect(0)
    first.rename(second)
    store.put("small", "in/2.json", [{"id": 2}])
    with StorageLock(f"{lake}/storage"):
        assert penstock("run", second, "--json", timeout=400).expect(3).conditions == ["STORAGE_LOCKED"]
    penstock("run", second, timeout=400).expect(0)
    show = ("show", second, "--json")
    assert penstock(*show[:1], "total", *show[1:]).expect(0).document == [{"total": 3}]
    assert sorted(row["id"] for row in penstock(*show[:1], "numbers", *show[1:]).expect(0).document) == [1, 2]
    status = penstock("status", second, "--json").expect(0).document
    assert {each["name"]: each["quarantined"] for each in status["datasets"]}["default.numbers"] == 1
    assert penstock("checkpoint", "show", "numbers", second).expect(0).stdout
    assert not list(second.glob(".penstock*"))


@pytest.mark.slow  # of its kind a smaller one is above
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("victims", [(), (*VICTIMS, *VICTIMS)], ids=["left alone", "killed six times"])
def test_the_quickstart_has_the_same_tables(store: HdfsServer, tmp_path: Path, victims: tuple[str, ...]) -> None:
    project = orders_project(tmp_path / "orders")
    storage = f"{store.bucket(f'lake{len(victims)}')}/orders"
    project.add_settings(f"storage: {storage}")
    one_file_a_batch(project)
    table = f"{storage}/tables/shop/bronze_orders"

    def commits() -> int:
        return open_delta_table(table).version() + 1 if is_delta_table(table) else 0

    for victim in victims:
        before = commits()
        with running("run", project.directory, "--json") as command:
            command.wait_for(lambda seen=before: commits() > seen + 1, what="two commits", timeout=300)  # type: ignore[misc]
            kill(command, victim)
    assert_same_tables(project, storage)

"""Commits of Delta's log in object stores: one whose name is taken is rejected, and a lost response loses none."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from tests.integration.store_server import StoreServer

from penstock.spark._jvm import java_session, jvm
from penstock.spark.accelerators.own_classes import AZURE_LOG_STORE, GCS_LOG_STORE, OBJECT_LOG_STORE

_NAME = "orders/_delta_log/00000000000000000000.json"


def _path(spark: SparkSession, uri: str) -> Any:
    return jvm(spark).org.apache.hadoop.fs.Path(uri)


def _chosen(spark: SparkSession, path: Any) -> Any:
    log_store = jvm(spark).org.apache.spark.sql.delta.storage.LogStore
    return log_store.apply(java_session(spark)).getDelegate(path).logStoreImpl()


def _writer(spark: SparkSession, path: Any) -> Callable[..., None]:
    java, hadoop = jvm(spark), spark._jsc.hadoopConfiguration()
    store = _chosen(spark, path)
    path.getFileSystem(hadoop).mkdirs(path.getParent())  # as Delta does for a new table

    def write(text: str, *, overwrite: bool = False) -> None:
        store.write(path, java.java.util.List.of(text).iterator(), overwrite, hadoop)

    return write


def test_a_commit_replaces_no_other(spark: SparkSession, store: StoreServer) -> None:
    path = _path(spark, f"{store.bucket('commits')}/{_NAME}")
    write = _writer(spark, path)
    write("first")
    with pytest.raises(Py4JJavaError) as caught:
        write("second")
    assert caught.value.java_exception.getClass().getName() == "java.nio.file.FileAlreadyExistsException"
    write("first")  # the answer was lost on its way, and the commit was sent again
    assert store.content("commits", _NAME) == b"first\n"
    write("third", overwrite=True)
    assert store.content("commits", _NAME) == b"third\n"


def test_of_many_at_once_one_commits(spark: SparkSession, store: StoreServer) -> None:
    place = store.bucket("race")
    names = [f"orders/_delta_log/{number:020}.json" for number in range(8)]

    def refusal(writer: int, name: str) -> str:
        try:
            _writer(spark, _path(spark, f"{place}/{name}"))(f"of {writer}")
        except Py4JJavaError as error:
            return str(error.java_exception.getClass().getName())
        return ""

    for name in names:
        with ThreadPoolExecutor(4) as pool:
            refusals = list(pool.map(refusal, range(4), [name] * 4))
        assert sorted(refusals) == ["", *["java.nio.file.FileAlreadyExistsException"] * 3]
        assert store.content("race", name) == f"of {refusals.index('')}\n".encode()
    assert sorted(key for key in store.keys("race") if not key.endswith("/")) == names


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("s3a://lake", OBJECT_LOG_STORE),
        ("abfs://lake@shop.blob.core.windows.net", AZURE_LOG_STORE),
        ("abfss://lake@shop.dfs.core.windows.net", AZURE_LOG_STORE),
        ("gs://lake", GCS_LOG_STORE),
    ],
)
def test_each_store_has_its_own_way(spark: SparkSession, place: str, name: str) -> None:
    assert _chosen(spark, _path(spark, f"{place}/{_NAME}")).getClass().getName() == name

"""Flat folders are listed without Spark, and its log of read files is read line by line: both as Spark has them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.auto_loader.conftest import SOURCE, Landing

from penstock.spark import _jvm
from penstock.spark.sources.auto_loader.files import discovery
from penstock.spark.sources.auto_loader.files.discovery import flat_folder, is_flat
from penstock.spark.sources.auto_loader.options.read_options import parse_options

Build = Callable[..., Landing]

_INTERVAL = "spark.sql.streaming.fileSource.log.compactInterval"


def test_a_flat_folder_has_the_files_that_spark_finds(landing: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    it = landing("text")
    for name in ("1.txt", "a b%20+#?&.txt", "_SUCCESS", ".hidden", "x._COPYING_", '"quoted" [1].txt', "9~^`|.txt"):
        it.put(name, name, modified=1_600_000_000.5)
    (it.files / "linked.txt").symlink_to(it.put(".elsewhere", "text"))
    (it.files / "_temporary").mkdir()
    options = parse_options(it.read())
    flat = discovery.list_files(it.spark, options)
    assert len(flat.files) == 5
    with monkeypatch.context() as patch:
        patch.setattr(discovery, "flat_folder", lambda _: None)
        assert discovery.list_files(it.spark, options) == flat


@pytest.mark.parametrize("name", ["day=1/1.txt", "_spark_metadata/0", "_a=b.txt", "_metadata.txt", "a:b.txt", "ä.txt"])
def test_what_only_spark_can_tell_is_left_to_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "1.txt").write_text("")
    uri = f"file:{tmp_path}"
    assert is_flat(uri)
    assert flat_folder(uri)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("")
    assert not is_flat(uri)
    assert flat_folder(uri) is None


@pytest.mark.parametrize("uri", ["s3a://bucket/in", "file:/no/such/folder", "file:/tmp/*", "file:/tmp/.."])
def test_what_is_no_folder_here_is_not_flat(uri: str) -> None:
    assert not is_flat(uri)
    assert flat_folder(uri) is None


def test_the_log_of_read_files_is_that_of_spark(landing: Build, spark: SparkSession) -> None:
    spark.conf.set(_INTERVAL, "2")
    try:
        it = landing("text", maxFilesPerTrigger="1")
        for number in range(5):
            it.put(f'{number} "%\\.txt', f"{number}\n", modified=1_600_000_000.0 + number)
        it.run()
        log = it.root / "checkpoint" / "sources" / SOURCE
        lines = (log / "3.compact").read_text().splitlines()
        assert [lines[0], *(json.loads(line)["batchId"] for line in lines[1:])] == ["v1", 0, 1, 2, 3]
        native = _jvm.jvm(spark).org.apache.spark.sql.execution.streaming.runtime.FileStreamSourceLog
        read = native(1, _jvm.java_session(spark), str(log)).allFiles()
        compact = [{"path": e.path(), "timestamp": e.timestamp(), "batchId": e.batchId()} for e in read]
        assert [json.dumps(each, separators=(",", ":")) for each in compact[:4]] == lines[1:]

        for name in ("3.compact", "4"):  # another spelling of the same
            written = [
                line if line == "v1" else json.dumps(json.loads(line)) for line in (log / name).read_text().splitlines()
            ]
            (log / name).write_text("\n".join(written))
            (log / f".{name}.crc").unlink(missing_ok=True)
        it.put("later.txt", "later\n")
        it.run()
    finally:
        spark.conf.unset(_INTERVAL)
    assert it.rows("value") == [("0",), ("1",), ("2",), ("3",), ("4",), ("later",)]
    assert len((log / "5.compact").read_text().splitlines()) == 7

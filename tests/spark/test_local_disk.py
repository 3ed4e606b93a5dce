"""Penstock's own file system and log store for local disks, against those of Hadoop and Delta, and against races."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from penstock.spark._jvm import java_session, jvm
from penstock.spark.accelerators.own_classes import FILE_SYSTEM, LOG_STORE, own_jars

_TAKEN = "java.nio.file.FileAlreadyExistsException"
_TEMPORARY = "4e2d8e42-7d3c-4a5b-8d5c-000000000000.tmp"


@dataclass
class Disk:
    """Penstock's log store on the local disk, called from Python."""

    spark: SparkSession
    conf: Any
    log: Any

    @property
    def java(self) -> Any:
        return jvm(self.spark)

    def path(self, file: Path) -> Any:
        return self.java.org.apache.hadoop.fs.Path(file.as_uri())

    def write(self, file: Path, *lines: object, overwrite: bool = False, conf: Any = None) -> bool:
        """Writes a file; returns whether it did, rather than finding the name taken."""
        actions = self.java.java.util.ArrayList()
        for line in lines:
            actions.add(line)
        try:
            self.log.write(self.path(file), actions.iterator(), overwrite, conf or self.conf)
        except Py4JJavaError as error:
            if is_instance_of(self.spark.sparkContext._gateway, error.java_exception, _TAKEN):
                return False
            raise
        return True

    def listed(self, start: Path, log: Any = None) -> list[tuple[object, ...]]:
        found = (log or self.log).listFrom(self.path(start), self.conf)
        statuses: list[tuple[object, ...]] = []
        while found.hasNext():
            each = found.next()
            statuses.append((each.getPath().toString(), each.getLen(), each.isDirectory(), each.getModificationTime()))
        return statuses


@pytest.fixture(scope="module")
def disk(spark: SparkSession) -> Disk:
    conf = java_session(spark).sessionState().newHadoopConf()
    return Disk(spark, conf, jvm(spark).penstock.localdisk.LocalDiskLogStore(conf))


def test_a_local_session_uses_them(spark: SparkSession, disk: Disk, tmp_path: Path) -> None:
    assert own_jars()
    path = disk.path(tmp_path)
    assert path.getFileSystem(disk.conf).getClass().getName() == FILE_SYSTEM
    java = disk.java.org.apache.spark.sql
    store = java.delta.storage.LogStore.apply(java_session(spark)).getDelegate(path)
    assert store.logStoreImpl().getClass().getName() == LOG_STORE
    manager = java.execution.streaming.checkpointing.CheckpointFileManager.create(path, disk.conf)
    assert manager.getClass().getSimpleName().startswith("FileSystemBased")


# -- the log


@pytest.mark.parametrize("seed", range(3))
def test_a_listing_is_that_of_deltas_own(disk: Disk, tmp_path: Path, seed: int) -> None:
    chosen = random.Random(seed)
    kinds = (".json", ".crc", ".checkpoint.parquet", "")
    names = [f"{chosen.randrange(12):020d}{kind}" for kind in kinds for _ in range(6)]
    names += [f".{name}.crc" for name in names] + ["_last_checkpoint", ".x.json.1b.tmp", "a:b", "ä ö%20", "~", "A"]
    for name in names:
        (tmp_path / name).write_text("x" * chosen.randrange(9))
    (tmp_path / "_sidecars").mkdir()
    (tmp_path / f"{5:020d}.gone").symlink_to(tmp_path / "nothing")
    deltas = disk.java.io.delta.storage.HDFSLogStore(disk.conf)
    for start in (f"{chosen.randrange(12):020d}.", f"{20:020d}.", "_", ".", "~~"):
        assert disk.listed(tmp_path / start) == disk.listed(tmp_path / start, deltas)
    assert len(disk.listed(tmp_path / f"{0:020d}.")) > 10


def test_a_file_that_has_gone_meanwhile_is_left_out(disk: Disk, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.json").touch()
    found = disk.log.listFrom(disk.path(tmp_path / "0.json"), disk.conf)
    (tmp_path / "1.json").unlink()
    (tmp_path / "2.json").unlink()
    assert found.next().getPath().getName() == "0.json"
    assert not found.hasNext()
    with pytest.raises(StopIteration):
        found.next()


def test_a_log_that_is_not_there(disk: Disk, tmp_path: Path) -> None:
    with pytest.raises(Py4JJavaError, match="FileNotFoundException"):
        disk.listed(tmp_path / "gone" / "0.json")
    with pytest.raises(Py4JJavaError, match="FileNotFoundException"):
        disk.write(tmp_path / "gone" / "0.json", "{}")
    assert list(tmp_path.iterdir()) == []


def test_a_commit_is_whole_and_its_name_is_given_once(disk: Disk, tmp_path: Path) -> None:
    commit = tmp_path / f"{7:020d}.json"
    assert disk.write(commit, "one", "zwei ä")
    assert not disk.write(commit, "other")
    assert commit.read_text("utf-8") == "one\nzwei ä\n"
    assert disk.write(commit, "new", overwrite=True)
    assert commit.read_text("utf-8") == "new\n"
    assert list(tmp_path.iterdir()) == [commit]


def test_a_write_that_fails_leaves_nothing(disk: Disk, tmp_path: Path) -> None:
    with pytest.raises(Py4JJavaError, match="ClassCastException"):
        disk.write(tmp_path / "0.json", "a line", 7)
    assert list(tmp_path.iterdir()) == []


def test_of_racing_threads_one_wins(disk: Disk, tmp_path: Path) -> None:
    writers, commits = 4, [tmp_path / f"{number:020d}.json" for number in range(150)]
    barrier = threading.Barrier(writers)

    def written(writer: int) -> list[bool]:
        return [barrier.wait() >= 0 and disk.write(commit, f"{writer}") for commit in commits]

    with ThreadPoolExecutor(writers) as pool:
        won = zip(*pool.map(written, range(writers)), strict=True)
    for commit, winners in zip(commits, won, strict=True):
        assert winners.count(True) == 1
        assert commit.read_text() == f"{winners.index(True)}\n"
    assert len(list(tmp_path.iterdir())) == len(commits)


_OTHER_ENGINE = """
import os, random, sys, time
own = sys.argv[1]
with open(own, "w") as file:
    file.write("other\\n")
print("ready", flush=True)
for line in sys.stdin:
    moment = time.perf_counter() + random.random() * 0.0015
    while time.perf_counter() < moment:
        pass
    try:
        os.link(own, line.strip())
    except FileExistsError:
        print("taken", flush=True)
    else:
        print("won", flush=True)
"""


def test_the_commit_of_another_process_is_never_replaced(disk: Disk, tmp_path: Path) -> None:
    command = [sys.executable, "-c", _OTHER_ENGINE, str(tmp_path / ".own")]
    won = {"ours": 0, "other": 0}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin
        assert other.stdout
        assert other.stdout.readline() == "ready\n"
        for number in range(800):
            commit = tmp_path / f"{number:020d}.json"
            other.stdin.write(f"{commit}\n")
            other.stdin.flush()
            ours = disk.write(commit, "ours")
            assert other.stdout.readline() == ("taken\n" if ours else "won\n")
            winner = "ours" if ours else "other"
            assert commit.read_text() == f"{winner}\n"
            won[winner] += 1
    assert all(won.values()), won


def test_a_commit_whose_name_it_has_taken_itself_is_made(disk: Disk, tmp_path: Path) -> None:
    """NFS repeats a link whose response was lost, and then finds the name taken: by the same file."""
    commit = tmp_path / "0.json"
    lines = disk.java.java.util.Collections.nCopies(3_000_000, "a line")

    def link_early() -> None:
        while not (found := [each for each in tmp_path.iterdir() if each.suffix == ".tmp"]):
            time.sleep(0.001)
        os.link(found[0], commit)

    with ThreadPoolExecutor(1) as pool:
        linked = pool.submit(link_early)
        disk.log.write(disk.path(commit), lines.iterator(), False, disk.conf)
        linked.result(10)
    assert (os.listdir(tmp_path), commit.stat().st_nlink) == (["0.json"], 1)
    assert commit.stat().st_size == 3_000_000 * len("a line\n")


def test_what_a_kill_beside_a_commit_leaves_is_passed_over(spark: SparkSession, tmp_path: Path) -> None:
    table, log = tmp_path / "table", tmp_path / "table" / "_delta_log"
    spark.range(3).write.format("delta").save(str(table))
    # Before its name is given, a commit is a hidden file of one name; right after it, one of two names.
    (log / f".{1:020d}.json.{_TEMPORARY}").write_text("{")
    os.link(log / f"{0:020d}.json", log / f".{0:020d}.json.{_TEMPORARY}")
    jvm(spark).org.apache.spark.sql.delta.DeltaLog.clearCache()
    spark.range(3).write.format("delta").mode("append").save(str(table))
    assert spark.read.format("delta").load(str(table)).count() == 6
    assert (log / f"{1:020d}.json").exists()


# -- the files


@pytest.mark.skipif(sys.platform != "linux", reason="sees by /proc what other processes have done")
def test_a_file_is_created_without_a_process(disk: Disk, tmp_path: Path) -> None:
    process = disk.java.java.lang.ProcessHandle.current().pid()

    def work_of_ended_processes() -> int:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[8])  # their page faults

    def create(files: Any, name: str) -> int:
        before = work_of_ended_processes()
        for number in range(5):
            files.create(disk.path(tmp_path / f"{name}{number}")).close()
        return work_of_ended_processes() - before

    hadoops = disk.java.org.apache.hadoop.fs.LocalFileSystem()
    hadoops.initialize(disk.path(tmp_path).toUri(), disk.conf)
    assert create(hadoops, "hadoop") > 0
    assert create(disk.path(tmp_path).getFileSystem(disk.conf), "penstock") == 0
    before = work_of_ended_processes()
    assert disk.write(tmp_path / "0.json", "{}")
    assert work_of_ended_processes() == before


@pytest.mark.parametrize("mask", ["022", "077", "002", "000"])
def test_permissions_are_those_that_hadoop_gives(disk: Disk, tmp_path: Path, mask: str) -> None:
    hadoop = disk.java.org.apache.hadoop
    conf = hadoop.conf.Configuration(disk.conf)
    conf.set("fs.permissions.umask-mode", mask)

    def modes(name: str, files: Any) -> dict[str, int]:
        root = tmp_path / name
        (root / "shared").mkdir(parents=True)
        (root / "shared").chmod(0o2775)  # its group is that of what is made in it
        (root / "old").touch(0o600)
        files.initialize(disk.path(root).toUri(), conf)
        for path in ("new", "old", "given", "a/b/c", "shared/deep/file"):
            files.create(disk.path(root / path)).close()
        files.mkdirs(disk.path(root / "sticky"), hadoop.fs.permission.FsPermission("1777"))
        files.setPermission(disk.path(root / "given"), hadoop.fs.permission.FsPermission("751"))
        return {str(each.relative_to(root)): each.stat().st_mode for each in root.rglob("*")}

    found = modes("penstock", disk.java.penstock.localdisk.LocalDiskFileSystem())
    assert found == modes("hadoop", hadoop.fs.LocalFileSystem())
    assert ".new.crc" in found


def test_a_commit_has_the_permissions_of_any_new_file(disk: Disk, tmp_path: Path) -> None:
    conf = disk.java.org.apache.hadoop.conf.Configuration(disk.conf)
    conf.set("fs.permissions.umask-mode", "027")
    conf.setBoolean("fs.file.impl.disable.cache", True)  # else the file system is the session's, with its settings
    assert disk.write(tmp_path / "0.json", "{}", conf=conf)
    assert (tmp_path / "0.json").stat().st_mode & 0o777 == 0o640


def test_a_damaged_checkpoint_file_is_noticed(spark: SparkSession, disk: Disk, tmp_path: Path) -> None:
    spark.range(10).write.format("delta").save(str(tmp_path / "in"))
    (
        spark.readStream.name("numbers").format("delta").load(str(tmp_path / "in")).where(f.col("id") > 1)
        .writeStream.format("delta").option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()
    )  # fmt: skip
    plan = tmp_path / "checkpoint" / "offsets" / "0"
    assert plan.with_name(".0.crc").exists()
    plan.write_bytes(plan.read_bytes()[:-1] + b"?")
    file = disk.path(plan).getFileSystem(disk.conf).open(disk.path(plan))
    with pytest.raises(Py4JJavaError, match="ChecksumException"):
        disk.java.org.apache.hadoop.io.IOUtils.readFullyToByteArray(file)

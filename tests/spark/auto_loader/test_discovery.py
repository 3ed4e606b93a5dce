"""Files are found by their names, as Linux tells them, and by the times of folders: no file is missed."""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.query import StreamingQuery
from tests.processes import wait_until
from tests.spark.auto_loader.conftest import Landing

from penstock.spark import _jvm

Build = Callable[..., Landing]

_LONG_AGO = 1_600_000_000.0
_SETTLED = 0.5


@contextmanager
def _running(it: Landing) -> Iterator[StreamingQuery]:
    it.transform = lambda frame: frame.selectExpr("value", "_metadata.file_path AS path")
    with it.streaming() as query:
        yield query


def _discovery(query: StreamingQuery) -> Any:
    return _private(_jvm.scala_seq(query._jsq.streamingQuery().sources())[0], "discovery")


def _private(owner: Any, name: str) -> Any:
    field = owner.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(owner)


def _has_seen(watcher: Any, number: int) -> bool:
    return bool(_private(watcher, "events") > number)


def _values(it: Landing) -> list[str]:
    return [row[0] for row in it.rows("value")]


@pytest.mark.accelerated
@pytest.mark.parametrize("interval", [pytest.param("1 day", marks=pytest.mark.slow), "2 seconds"])
def test_a_folder_without_changes_is_left_alone_until_the_backfill(landing: Build, interval: str) -> None:
    it = landing("text", backfillInterval=interval)
    it.put("1.txt", "first\n")
    time.sleep(_SETTLED)
    with _running(it) as query:
        listed = _private(_discovery(query), "listed")
        it.move_in("a b%.txt", "second\n", modified=_LONG_AGO)
        os.utime(it.files, (_LONG_AGO, _LONG_AGO))
        query.processAllAvailable()
        assert _values(it) == ["first", "second"]
        time.sleep(_SETTLED)
        it.move_in("3.txt", "third\n")
        query.processAllAvailable()
        assert _values(it) == ["first", "second", "third"]
        if interval == "1 day":
            assert _private(_discovery(query), "listed") == listed, "everything was listed once"
        time.sleep(2)
        query.processAllAvailable()
        assert (_private(_discovery(query), "listed") == listed) == (interval == "1 day")


@pytest.mark.accelerated
def test_a_folder_of_files_is_not_listed_to_find_new_ones(landing: Build) -> None:
    it = landing("text")
    it.put("1.txt", "first\n")
    with _running(it) as query:
        listed, watcher = (_private(_discovery(query), name) for name in ("namesListed", "watcher"))
        for number in range(600):  # more than a key of Java's keeps until they are collected
            it.put(f".{number}", "never\n")
            if number % 100 == 0:  # a busy machine may collect them later than they come
                wait_until(partial(_has_seen, watcher, number), timeout=20, what="the watcher")
        it.move_in("2.txt", "second\n")
        (it.root / "3.txt").write_text("third\n")
        (it.root / "3.txt").rename(it.files / "3 ä%.txt")
        query.processAllAvailable()
        assert _values(it) == ["first", "second", "third"]
        assert _private(_discovery(query), "namesListed") == listed
        it.files.rename(it.root / "former")
        it.files.mkdir()
        it.move_in("4.txt", "fourth\n")
        query.processAllAvailable()
        it.move_in("5.txt", "fifth\n")
        query.processAllAvailable()
        assert _values(it) == ["fifth", "first", "fourth", "second", "third"]
        it.move_in("day=1/6.txt", "sixth\n")
        query.processAllAvailable()
        assert _private(_discovery(query), "watcher") is None, "Spark says what a folder in it means"


@pytest.mark.accelerated
def test_where_linux_cannot_tell_names_the_folder_is_listed(landing: Build) -> None:
    it = landing("text")
    it.put("1.txt", "first\n")
    libc = ctypes.CDLL(None)
    taken = list(iter(lambda: libc.inotify_init1(os.O_CLOEXEC), -1))  # all that the system allows
    try:
        with _running(it) as query:
            assert _private(_discovery(query), "watcher") is None
            it.move_in("2.txt", "second\n")
            query.processAllAvailable()
            assert _values(it) == ["first", "second"]
    finally:
        for each in taken:
            os.close(each)


@pytest.mark.parametrize("option", ["useIncrementalListing", pytest.param("allowOverwrites", marks=pytest.mark.slow)])
def test_where_everything_is_listed_each_time(landing: Build, option: str) -> None:
    it = landing("text", **{option: "false" if option == "useIncrementalListing" else "true"})
    it.put("1.txt", "first\n")
    with _running(it) as query:
        assert "ChangedFolders" not in _discovery(query).getClass().getName()
        it.move_in("2.txt", "second\n")
        query.processAllAvailable()
        assert _values(it) == ["first", "second"]


def test_of_a_folder_that_a_sink_of_spark_writes_only_what_its_log_names_is_read(landing: Build) -> None:
    """As Spark's own stream of files does: the rest was written by tasks whose batch came to nothing."""
    it = landing("text", schema="value STRING")
    time.sleep(_SETTLED)
    with _running(it) as query:  # the folder is empty: what wrote it is not known yet
        _sink(it, "first\n")
        it.put("part-0-of-a-batch-cut-off.txt", "never\n")
        query.processAllAvailable()
        assert _values(it) == ["first"]
        time.sleep(_SETTLED)
        it.put("part-1-of-a-batch-cut-off.txt", "never\n")
        _sink(it, "second\n")
        query.processAllAvailable()
    assert _values(it) == ["first", "second"]


def _sink(it: Landing, text: str) -> None:
    """Spark writes into the folder."""
    given = it.root / "given"
    given.mkdir(exist_ok=True)
    (given / f"{len(list(given.iterdir()))}.txt").write_text(text)
    rows = it.spark.readStream.schema("value STRING").name("given").text(str(given))
    writer = rows.writeStream.format("text")
    writer = writer.option("checkpointLocation", str(it.root / "of the sink")).trigger(availableNow=True)
    writer.start(str(it.files)).awaitTermination()


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "flat"), [(1, False), (1, True), (2, False), (3, False)])
def test_whatever_happens_to_files_and_folders_each_path_is_read_once(landing: Build, seed: int, flat: bool) -> None:
    """Files are written, renamed, moved in with old times and deleted; folders come, go and are renamed."""
    it, chance = landing("text", maxFilesPerTrigger="3"), random.Random(seed)
    it.put("first.txt" if flat else "day=0/first.txt", "x\n")
    it.options["ignoreMissingFiles"] = "true"  # a file may go between its listing and its batch
    (it.root / "aside").mkdir()

    def names() -> list[Path]:
        return [path for path in it.files.rglob("*.txt") if not path.name.startswith(("_", "."))]

    def there() -> set[str]:
        return {str(path.relative_to(it.files)) for path in names()}

    def folder() -> Path:
        return it.files if flat else it.files / f"day={chance.randrange(4)}"

    def happen(number: int) -> None:
        path = folder() / f"{number} ä%.txt" if chance.random() < 0.3 else folder() / f"{number}.txt"
        match chance.randrange(7):
            case 0 | 1 | 2:
                hidden = path.with_name(f"{chance.choice('._')}{path.name}")
                it.put(str(hidden.relative_to(it.files)), "x\n", modified=chance.choice([None, _LONG_AGO]))
                hidden.rename(path)
            case 3 if names():
                path.parent.mkdir(exist_ok=True)
                chance.choice(names()).rename(path)
            case 4 if len(names()) > 1:
                chance.choice(names()).unlink()
            case 5 if not flat:
                moved = it.root / "aside" / f"day={number + 10}"
                moved.mkdir()
                (moved / "in.txt").write_text("x\n")
                moved.rename(it.files / moved.name)
            case 6 if not flat and path.parent.is_dir() and len(names()) > len(list(path.parent.glob("*.txt"))):
                shutil.rmtree(path.parent)

    read, ever = there(), there()
    with _running(it) as query:
        for number in range(30 if seed == 1 else 120):
            for step in range(chance.randrange(1, 4)):
                happen(number * 10 + step)
                ever |= there()
            read |= there()
            query.processAllAvailable()
            if chance.random() < 0.3:
                time.sleep(_SETTLED)  # else each folder is young, and is listed for that
                query.processAllAvailable()
    rows = it.table.selectExpr("url_decode(replace(path, '+', '%2B'))").collect()
    found = [row[0].partition(f"{it.files}/")[2] for row in rows]
    assert len(found) == len(set(found)), "once each"
    assert read <= set(found) <= ever

"""A file that something may still write is not read yet; one that was moved in is read at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from pyspark.sql.streaming.query import StreamingQuery
from tests.processes import wait_until
from tests.spark.auto_loader.conftest import Landing
from tests.spark.growing_file import written_to

from penstock.errors import DefinitionError
from penstock.spark.sources.auto_loader.options.names import SETTLE_TIME_SETTING

Build = Callable[..., Landing]

_LONG_AGO = 1_600_000_000.0


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def _move_in(it: Landing, name: str) -> None:
    it.put(f".{name}", f"{name}\n").rename(it.files / name)


def _values(it: Landing) -> list[str]:
    return [row[0] for row in it.rows("value")]


def _await(it: Landing, query: StreamingQuery, values: list[str]) -> None:
    def has() -> bool:
        query.processAllAvailable()
        return _values(it) == values

    wait_until(has, timeout=20, what=f"rows {values}", interval=0.1)


@pytest.mark.parametrize("folder", ["", pytest.param("day=1/", marks=pytest.mark.slow)])
def test_a_file_that_is_appended_to_for_a_while_has_all_its_lines(
    landing: Build, folder: str, stack: ExitStack
) -> None:
    it = landing("text", settleTime="2 seconds")
    it.put(f"{folder}0.txt", "0\n", modified=_LONG_AGO)
    with written_to(it.files / folder / "slow.txt") as lines:
        with it.streaming() as query:
            time.sleep(2.5)
            query.processAllAvailable()
            assert _values(it) == ["0"]
        query = stack.enter_context(it.streaming())  # which knows nothing of what was held back
        time.sleep(0.5)
        query.processAllAvailable()
        assert _values(it) == ["0"]
    _await(it, query, ["0", *lines])


@pytest.mark.accelerated
def test_what_is_moved_in_is_read_at_once(landing: Build) -> None:
    it = landing("text", settleTime="1 hour")
    it.put("0.txt", "0\n", modified=_LONG_AGO)
    with it.streaming() as query:
        for name in ("1 ä%.txt", "2.txt"):
            _move_in(it, name)
            it.put(f"written {name}", "not yet\n")
            (it.files / f"empty {name}").touch()
            query.processAllAvailable()
        assert _values(it) == ["0", "1 ä%.txt", "2.txt"]
        it.put("old.txt", "old\n", modified=_LONG_AGO)
        _move_in(it, "written 2.txt")
        query.processAllAvailable()
        assert _values(it) == ["0", "1 ä%.txt", "2.txt", "old", "written 2.txt"], (
            "in the place of one that was held back"
        )


def test_a_run_waits_once_for_what_is_there(landing: Build) -> None:
    it = landing("text", settleTime="2 seconds")
    it.put("old.txt", "old\n", modified=_LONG_AGO)
    it.put("young.txt", "young\n")
    it.put("of a clock that is wrong.txt", "early\n", modified=time.time() + 3600)
    started = time.monotonic()
    it.run()
    assert time.monotonic() - started > 2
    assert _values(it) == ["early", "old", "young"]
    assert it.outstanding == [(2, 12), (0, 0)]
    it.options["cloudFiles.allowOverwrites"] = "true"
    it.put("old.txt", "changed\n")
    it.run()
    assert _values(it) == ["changed", "early", "old", "young"]


def test_the_session_has_a_settle_time_for_all_sources(landing: Build) -> None:
    it = landing("text")
    before = str(it.spark.conf.get(SETTLE_TIME_SETTING))
    it.spark.conf.set(SETTLE_TIME_SETTING, "soon")
    try:
        it.put("1.txt", "1\n")
        with pytest.raises(DefinitionError) as refused:
            it.load()
        assert refused.value.facts["option"] == SETTLE_TIME_SETTING
        it.spark.conf.set(SETTLE_TIME_SETTING, "1 hour")
        with it.streaming() as query:
            query.processAllAvailable()
            assert not (it.root / "table").exists()
    finally:
        it.spark.conf.set(SETTLE_TIME_SETTING, before)

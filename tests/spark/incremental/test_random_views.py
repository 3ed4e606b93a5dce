"""After each refresh a view has the rows that its query would give, whatever has happened to its tables."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from pathlib import Path
from random import Random
from typing import Final

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tests.spark.incremental.random_tables import RandomTables
from tests.spark.incremental.random_views import RandomView, assert_same, random_query
from tests.spark.incremental.refreshes import EVIDENCE, Refreshes, next_seed, this_session

from penstock.errors import PenstockError
from penstock.events import RefreshMethod
from penstock.spark._jvm import jvm
from penstock.spark.accelerators.accelerator import TABLE_CHANGES
from penstock.spark.session.query_settings import query_settings
from penstock.spark.writers.incremental.refresh import REWRITTEN_BELOW

_FEW: Final = 4
_DEPTHS: Final = (0, 1, 0, 1, 0, 0, 1, 2)  # most of the time is Spark's, planning them
_MEMORY: Final = Path("/dev/shm")  # where there is one
_ZONES: Final = ("UTC", "Europe/Berlin", "Asia/Kathmandu", "America/New_York")
_SMALL: Final = {  # one task a stage: the tables have a few dozen rows
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.stats.collect": "false",
}


def _refresh(spark: SparkSession, folder: Path, seed: int, *, views: int, changes: int) -> Refreshes:
    random, found = Random(seed), Refreshes()
    adaptive = str(seed % 4 == 0).lower()  # it runs each stage as a job, which takes its time
    chosen = {"spark.sql.session.timeZone": random.choice(_ZONES), "spark.sql.adaptive.enabled": adaptive}
    with query_settings(spark, {**_SMALL, **chosen}):
        tables = RandomTables(spark, folder, random)
        watched = []
        for number in range(views):
            text = random_query(random, depth=_DEPTHS[number % len(_DEPTHS)])
            below = number // 2 % 2 * REWRITTEN_BELOW
            watched.append(RandomView(tables, text, str(folder / f"v{number}"), rewritten_below=below))
        _step("its first refresh", watched, Refreshes(), seed)
        for _ in range(changes):
            change = tables.change()
            if random.random() < 1 / 8:
                random.choice(watched).last = None  # refreshed in full
            _step(change, watched, found, seed)
    return found


def _step(change: str, views: list[RandomView], found: Refreshes, seed: int) -> None:
    """Refreshes all views after a change, and compares them."""
    written = []
    for view in views:
        try:
            found.by_method[view.write().value] += 1
        except (PySparkException, Py4JJavaError, PenstockError) as error:
            _differs(found, view, seed, change, error)
            continue
        written.append(view)
        found.by_change[change] += 1
        if view.choice is not None and view.choice.method is RefreshMethod.FULL:
            found.in_full_because[re.sub(r"\d[\d,]*", "…", view.choice.why)] += 1
    try:
        if written:
            assert_same(written)
    except AssertionError:
        for view in written:
            try:
                assert_same([view])
            except AssertionError as error:
                _differs(found, view, seed, change, error)


def _differs(found: Refreshes, view: RandomView, seed: int, change: str, error: BaseException) -> None:
    found.differences.append({"seed": seed, "change": change, "query": view.text, "error": str(error)[:1000]})
    view.last = None  # what comes next is not wrong because this was


def test_random_views_have_the_rows_of_their_queries(spark: SparkSession, tmp_path: Path) -> None:
    found = _refresh(spark, tmp_path, 3, views=_FEW, changes=2)
    assert not found.differences
    if TABLE_CHANGES.applies():
        assert found.by_method[RefreshMethod.FULL.value] < found.by_method.total() / 2, found.by_method


@pytest.mark.slow  # the test above, with as many refreshes as PENSTOCK_REFRESHES asks for, added to the evidence
def test_many_random_views(spark: SparkSession, tmp_path: Path) -> None:
    wanted, done, differences = int(os.environ.get("PENSTOCK_REFRESHES", "500")), Counter[str](), []
    session = this_session()
    parent = _MEMORY if os.access(_MEMORY, os.W_OK) else tmp_path
    while done.total() < wanted:
        seed = next_seed(EVIDENCE)
        folder = parent / f"penstock-refreshes-{os.getpid()}-{seed}"
        try:
            found = _refresh(spark, folder, seed, views=8, changes=10)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            jvm(spark).org.apache.spark.sql.delta.DeltaLog.clearCache()
        found.add_to(EVIDENCE, seed, session)
        done += found.by_method
        differences += found.differences
    assert not differences

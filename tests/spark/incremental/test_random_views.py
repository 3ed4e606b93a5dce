"""After each refresh a view has the rows that its query would give, whatever has happened to its tables."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession
from tests.spark.incremental.random_views import RandomTables, RandomView, random_query

from penstock.events import RefreshMethod
from penstock.spark.accelerators.accelerator import TABLE_CHANGES
from penstock.spark.writers.incremental.refresh import REWRITTEN_BELOW

_EVIDENCE = Path(__file__).parents[3] / "docs/evidence/incremental-refreshes.json"
_FEW = 4


def _refresh(spark: SparkSession, folder: Path, seed: int, *, views: int, changes: int) -> Counter[RefreshMethod]:
    random = Random(seed)
    tables = RandomTables(spark, folder, random)
    texts = [random_query(random, depth=number % 3 if views > _FEW else number % 2) for number in range(views)]
    watched = [
        RandomView(tables, text, str(folder / f"v{number}"), rewritten_below=number // 2 % 2 * REWRITTEN_BELOW)
        for number, text in enumerate(texts)
    ]
    methods: Counter[RefreshMethod] = Counter()
    for view in watched:
        view.refresh()
    for _ in range(changes):
        change = tables.change()
        for view in watched:
            try:
                methods[view.refresh()] += 1
            except Exception as error:
                raise AssertionError(f"seed {seed}: {change}: {view.text}") from error
    return methods


def test_random_views_have_the_rows_of_their_queries(spark: SparkSession, tmp_path: Path) -> None:
    methods = _refresh(spark, tmp_path, 3, views=_FEW, changes=2)
    if TABLE_CHANGES.applies():
        assert methods[RefreshMethod.FULL] < methods.total() / 2, methods


@pytest.mark.slow  # the test above, with as many seeds as PENSTOCK_REFRESHES asks for, kept as evidence
def test_many_random_views(spark: SparkSession, tmp_path: Path) -> None:
    wanted, methods, seed = int(os.environ.get("PENSTOCK_REFRESHES", "500")), Counter[RefreshMethod](), 100
    while methods.total() < wanted:
        methods += _refresh(spark, tmp_path / str(seed), seed, views=8, changes=6)
        seed += 1
    by_method = {method.value: methods[method] for method in RefreshMethod}
    evidence = {
        "refreshes": methods.total(),
        "equal": methods.total(),
        "by_method": by_method,
        "seeds": [100, seed - 1],
    }
    _EVIDENCE.write_text(json.dumps(evidence, indent=2) + "\n", encoding="utf-8")

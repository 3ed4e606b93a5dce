"""Each rule of the algebra is needed: with a line of it changed, a view is wrong after the change that is given.

The changed line is that of a copy of the room, which is imported in the place of the room for one refresh.
"""

from __future__ import annotations

import importlib
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession
from tests.spark.incremental.random_tables import RandomTables

from penstock.events import RefreshMethod
from penstock.spark import writers
from penstock.spark.accelerators.accelerator import TABLE_CHANGES
from penstock.spark.writers import incremental
from penstock.spark.writers.incremental.refresh import REWRITTEN_BELOW

_TESTS: Final = "tests.spark.incremental.random_views"
_JOIN: Final = "SELECT f.id, f.s, n.name FROM {f} AS f JOIN {n} AS n ON f.k = n.k"
_BOTH: Final = ("INSERT INTO {f} SELECT id + 100, k, v, d, s, t, xs FROM {f}", "INSERT INTO {n} SELECT * FROM {n}")
_MORE: Final = ("INSERT INTO {f} SELECT id + 100, k, v, d, s, t, xs FROM {f}",)
_FEWER: Final = ("DELETE FROM {f} WHERE id % 4 = 1",)


@dataclass(frozen=True, slots=True)
class Mutation:
    """A line of a module of the room, what stands there instead, and the view and the changes that show it."""

    module: str
    line: str
    instead: str
    query: str
    changes: tuple[str, ...]
    rewritten: bool = True


_MUTATIONS: Final = {
    "changes of a join's right side are lost": Mutation(
        "linear", "pairs.append(joined(rows_now(left, inputs), changed_right))", "pass", _JOIN, _BOTH
    ),
    "pairs of two changes count twice": Mutation(
        "linear",
        "pairs.append(_both_changed(joined, changed_rows(left, inputs), changed_right, join, inputs))",
        "pass",
        _JOIN,
        _BOTH,
    ),
    "pairs of two changes are no obstacle to appending": Mutation(
        "refresh",
        "only_added = not inputs.removes and is_added_once(query, inputs.changed)",
        "only_added = True",
        _JOIN,
        _BOTH,
    ),
    "a left join is linear in both sides": Mutation(
        "shape",
        "if kind in _FROM_THE_LEFT and not right.reads(changes):",
        "if kind in _FROM_THE_LEFT:",
        _JOIN.replace("JOIN", "LEFT JOIN"),
        ("DELETE FROM {n} WHERE k = 2",),
    ),
    "what was removed is merged as if it were added": Mutation(
        "refresh",
        "only_added = not inputs.removes and is_added_once(query, inputs.changed)",
        "only_added = is_added_once(query, inputs.changed)",
        "SELECT k, min(id) AS lo, count(*) AS n FROM {f} GROUP BY k",
        ("DELETE FROM {f} WHERE id < 9",),
    ),
    "all inputs of a union count as added": Mutation(
        "groups",
        "rebuilt(query, inputs.spark, added, lambda child: child.reads(inputs.changed))",
        "rebuilt(query, inputs.spark, added)",
        "SELECT k FROM {f} UNION ALL SELECT k FROM {n}",
        _MORE,
    ),
    "NULL is not equal to NULL": Mutation(
        "plans",
        "one.eqNullSafe(other)",
        "one == other",
        "SELECT k, count(*) AS n FROM {f} GROUP BY k",
        _MORE,
        rewritten=False,
    ),
    "counts are counted": Mutation(
        "groups",
        '"count": sf.sum',
        '"count": sf.count',
        "SELECT k, count(*) AS n FROM {f} GROUP BY k",
        _MORE,
    ),
    "the greater of two minima": Mutation(
        "groups",
        '"min": sf.min',
        '"min": sf.max',
        "SELECT k, min(id) AS lo FROM {f} GROUP BY k",
        _MORE,
        rewritten=False,
    ),
    "what was removed is added": Mutation(
        "signed",
        "sf.when(sign < 0, -value).otherwise(value)",
        "value",
        "SELECT k, count(*) AS n, sum(id) AS ids FROM {f} GROUP BY k",
        _FEWER,
    ),
    "the least that was removed is still the least": Mutation(
        "signed",
        "removed.isNull() | (removed > value)",
        "removed.isNull() | (removed >= value)",
        "SELECT s, min(id) AS lo, count(*) AS n FROM {f} GROUP BY s",
        _FEWER,
    ),
    "what came and went was there before": Mutation(
        "signed",
        "of_all(sf.when(sign < 0, value)).alias",
        "of_all(sf.when(sign < 0, sf.lit(None))).alias",
        "SELECT s, max(id) AS hi, count(*) AS n FROM {f} GROUP BY s",
        ("INSERT INTO {f} SELECT id + 100, k, v, d, s, t, xs FROM {f}", "DELETE FROM {f} WHERE id > 110"),
    ),
    "a sum of 0 is that of some values": Mutation(
        "signed",
        "removed.isNull() | (value != 0)",
        "sf.lit(True)",
        "SELECT s, sum(CASE WHEN id > 30 THEN id END) AS total, count(*) AS n FROM {f} GROUP BY s",
        ("DELETE FROM {f} WHERE id > 30",),
    ),
    "a sum of no values is 0": Mutation(
        "signed",
        "sf.when(sf.col(numbered[count]) != 0, values[name])",
        "values[name]",
        "SELECT s, sum(NULLIF(id, 0)) AS total, count(NULLIF(id, 0)) AS n, count(*) AS m FROM {f} GROUP BY s",
        ("UPDATE {f} SET id = 0 WHERE s = 's1'",),
    ),
    "a group without values has rows": Mutation(
        "signed",
        'sf.col("removed") == 0',
        "sf.lit(True)",
        "SELECT k, count(id) AS n FROM {f} GROUP BY k",
        ("DELETE FROM {f} WHERE k = 2",),
    ),
    "an average of other rows than its sum": Mutation(
        "averages",
        "== function and _same_filter(expression, other)",
        "== function",
        "SELECT k, avg(v) FILTER (WHERE s = 's1') AS a, sum(v) AS b, count(v) AS c FROM {f} GROUP BY k",
        _MORE,
    ),
    "an average by the count of all rows": Mutation(
        "averages",
        "return not value.nullable() and not",
        "return not",
        "SELECT k, avg(NULLIF(v, 1)) AS a, sum(NULLIF(v, 1)) AS b, count(*) AS c FROM {f} GROUP BY k",
        _MORE,
    ),
    "equal rows come back once": Mutation(
        "counted",
        'sf.array_repeat(sf.lit(0), sf.col(_COUNT).cast("int"))',
        "sf.array(sf.lit(0))",
        "SELECT s FROM {f}",
        _FEWER,
    ),
    "keys that the other side of a join touches are forgotten": Mutation(
        "touched",
        "return [*origins, _Matching(kept, tuple(columns), tuple(mine for mine, _ in on), tuple(among))]",
        "return origins",
        "SELECT f.id, m FROM {f} AS f LEFT JOIN (SELECT k, max(name) AS m FROM {n} GROUP BY k) AS b ON f.k = b.k",
        (
            "UPDATE {n} SET name = 'z' WHERE k = 2",
            "INSERT INTO {f} SELECT id + 100, k, v, d, s, t, xs FROM {f} WHERE id < 3",
        ),
    ),
}

_QUICK: Final = {"counts are counted", "equal rows come back once"}


@pytest.fixture(autouse=True)
def _by_what_has_changed() -> None:
    if not TABLE_CHANGES.applies():
        pytest.skip("all views are computed in full without this accelerator")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in _QUICK else pytest.mark.slow)  # it tests the tests
        for name in _MUTATIONS
    ],
)
def test_a_changed_rule_makes_a_view_wrong(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    mutation = _MUTATIONS[name]
    assert _refresh(mutation, spark, tmp_path / "right") is not RefreshMethod.FULL
    _import_changed(mutation, tmp_path / "changed", monkeypatch)
    with pytest.raises(AssertionError, match="RefreshChoice"):  # the rows differ, and not because it has failed
        _refresh(mutation, spark, tmp_path / "wrong")


def _refresh(mutation: Mutation, spark: SparkSession, folder: Path) -> RefreshMethod:
    """Refreshes the view after the changes; fails when its rows are wrong."""
    random_views: Any = importlib.import_module(_TESTS)
    tables = RandomTables(spark, folder, Random(1))
    below = REWRITTEN_BELOW if mutation.rewritten else 0
    view = random_views.RandomView(tables, mutation.query, str(folder / "view"), rewritten_below=below)
    view.refresh()
    for statement in mutation.changes:
        spark.sql(tables.query(statement))
    method: RefreshMethod = view.refresh()
    return method


def _import_changed(mutation: Mutation, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the room be imported anew, with the line changed, until the test ends."""
    name = incremental.__name__
    changed = shutil.copytree(Path(str(incremental.__file__)).parent, folder / "incremental")
    file = changed / f"{mutation.module}.py"
    text = file.read_text(encoding="utf-8")
    assert text.count(mutation.line) == 1, "the line is there once"
    file.write_text(text.replace(mutation.line, mutation.instead), encoding="utf-8")
    monkeypatch.setattr(writers, "__path__", [str(folder), *writers.__path__])
    monkeypatch.setattr(writers, "incremental", incremental)  # importing sets it anew
    for each in [each for each in sys.modules if each in {_TESTS, name} or each.startswith(f"{name}.")]:
        monkeypatch.delitem(sys.modules, each)

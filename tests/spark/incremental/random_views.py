"""Random queries over random tables, as views that are refreshed by what has changed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from random import Random

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from tests.spark.incremental.random_tables import RandomTables

from penstock.events import RefreshChoice, RefreshMethod
from penstock.spark.plans.row_difference import compare_rows
from penstock.spark.streams.writes import Replacement
from penstock.spark.writers.incremental.refresh import View, choose_refresh
from penstock.spark.writers.incremental.write import write_refresh

_MICROSECONDS = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"


def random_query(random: Random, *, depth: int) -> str:
    """Returns a query of filters, projections, joins, unions, groups, windows and more, so many on top of others."""
    rows = _rows(random, depth)
    return random.choice(_TOPS).format(rows=rows, where=random.choice(_WHERE))


def _rows(random: Random, depth: int) -> str:
    """Returns a query with the columns id, k, v, d, s and g."""
    if depth == 0:
        return random.choice(_BASES).replace("<where>", random.choice(_WHERE))
    one, other = _rows(random, depth - 1), _rows(random, depth - 1)
    return (
        random.choice(_NESTED).replace("<one>", one).replace("<other>", other).replace("<where>", random.choice(_WHERE))
    )


_WHERE = ["true", "k > 1", "V < 9", "s <> 's1'", "k IS NULL OR id % 2 = 0", "d > 3 AND s = 's2'", "coalesce(k, 3) = 3"]
_BASES = [
    "SELECT id, k, v, d, s, 0 AS g FROM {f} WHERE <where>",
    "SELECT ID, F.K, v, D, s, n.g FROM {f} AS f JOIN {n} AS n ON f.k = n.k WHERE v < 12",
    "SELECT id, f.k, v, d, coalesce(name, s) AS s, n.g FROM {f} AS f LEFT JOIN {n} AS n ON f.k = n.k AND n.g = 1",
    "SELECT id, k, v, d, s, 1 AS g FROM {f} AS f LEFT SEMI JOIN {n} AS n ON f.k = n.k AND n.g = 0",
    "SELECT id, k, v, d, s, 1 AS g FROM {f} AS f LEFT ANTI JOIN {n} AS n ON f.k = n.k",
    "SELECT id, x AS k, v, d, s, 2 AS g FROM {f} LATERAL VIEW explode(xs) AS x WHERE <where>",
    "SELECT a.id, a.k, b.v, a.d, b.s, 3 AS g FROM {f} AS a JOIN {f} AS b ON a.id = b.id + 1",
    "SELECT id, f.k, v, d, name AS s, f.k % 2 AS g FROM {n} AS n RIGHT JOIN {f} AS f ON f.k = n.k AND n.g = 0",
    "SELECT id, n.k, v, d, name AS s, n.g FROM {f} AS f FULL JOIN {n} AS n ON f.k = n.k",
    "SELECT id, n.k, v, d, name AS s, n.g FROM {f} AS f CROSS JOIN {n} AS n WHERE id % 5 = 1",
    "SELECT id, hour(t) AS k, v, d, date_format(t, 'yyyy-MM-dd HH') AS s, 4 AS g FROM {f} WHERE <where>",
]
_NESTED = [
    "SELECT id + 1 AS id, k, v * 2 AS v, d, upper(s) AS s, g FROM (<one>) WHERE <where>",
    "<one> UNION ALL SELECT * FROM (<other>)",
    "SELECT count(*) AS id, k, sum(v) AS v, max(d) AS d, s, min(g) AS g FROM (<one>) GROUP BY k, s",
    "SELECT DISTINCT id % 3 AS id, k, v, 0D AS d, s, g FROM (<one>)",
    "SELECT row_number() OVER (PARTITION BY k ORDER BY id, v, d, s, g) AS id, k, v, d, s, g FROM (<one>)",
    (
        "SELECT a.id, a.k, a.v, a.d, b.s, a.g FROM (<one>) AS a LEFT JOIN"
        " (SELECT k, max(s) AS s FROM (<other>) GROUP BY k) AS b ON a.k = b.k"
    ),
    "WITH c AS (<one>) SELECT id, k, v, d, s, g FROM c WHERE <where>",
]
_TOPS = [
    "SELECT * FROM ({rows}) WHERE {where}",
    "SELECT k, s FROM ({rows})",
    (
        "SELECT k, avg(v) AS mean, sum(v) AS total, count(v) AS n, count(d) AS m, min(d) AS lo, max(s) AS hi"
        " FROM ({rows}) GROUP BY k"
    ),
    "SELECT s, k, sum(d) AS total, sum(id) FILTER (WHERE g = 1) AS odd FROM ({rows}) WHERE {where} GROUP BY k, s",
    "SELECT k, avg(v) AS a, count(DISTINCT s) AS n, collect_set(g) IS NULL AS none FROM ({rows}) GROUP BY k",
    "SELECT coalesce(k, -1) AS kk, sum(v) AS total FROM ({rows}) GROUP BY coalesce(k, -1) HAVING sum(v) > 20",
    "SELECT count(id) AS n, sum(id) AS ids, avg(id) AS mean, sum(v) AS total, max(d) AS hi FROM ({rows})",
    "SELECT k, s, count(*) AS n, sum(id) AS ids, min(v) AS lo, max(d) AS hi FROM ({rows}) GROUP BY k, s",
    (
        "SELECT s, sum(CAST(v AS DECIMAL(38,10))) AS total, sum(g) AS gs, count(v) FILTER (WHERE g = 1) AS odd"
        " FROM ({rows}) WHERE {where} GROUP BY s"
    ),
    "SELECT coalesce(k, -1) AS kk, avg(id) AS mean, sum(id) AS ids, count(id) AS n FROM ({rows}) GROUP BY 1",
    "SELECT count(*) AS n, sum(v) AS total, min(id) AS lo FROM ({rows}) WHERE {where}",
    "SELECT DISTINCT k, s FROM ({rows}) WHERE {where}",
    "SELECT k, sum(v) OVER w AS run, lag(s) OVER w AS l FROM ({rows}) WINDOW w AS (PARTITION BY k ORDER BY id, v, s)",
    "SELECT date_trunc('DAY', t) AS y, count(*) AS n, max(t) AS last, min(d) AS lo FROM {{f}} WHERE {where} GROUP BY 1",
    "SELECT g, s, min(d) AS lo, max(v) AS hi, count(*) AS n FROM ({rows}) GROUP BY g, s",
    "SELECT K AS k, S, id FROM ({rows}) EXCEPT ALL SELECT k, name, g FROM {{n}}",
    "SELECT k, id, rank() OVER (PARTITION BY k, s ORDER BY v) AS place FROM ({rows})",
    (
        "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY v DESC, id, d, s, g) AS p"
        " FROM ({rows})) WHERE p < 3"
    ),
    (
        "SELECT /*+ BROADCAST(b) */ a.k, b.name, a.total FROM (SELECT k, sum(v) AS total FROM ({rows}) GROUP BY k) AS a"
        " JOIN {{n}} AS b ON a.k = b.k"
    ),
]


@dataclass(slots=True)
class RandomView:
    """A view of a random query, refreshed by what has changed where that is possible."""

    tables: RandomTables
    text: str
    path: str
    rewritten_below: int
    last: dict[str, str] | None = None

    choice: RefreshChoice | None = None
    _query: DataFrame | None = None

    def refresh(self) -> RefreshMethod:
        """Refreshes the view; it fails when the rows are not those of the query."""
        method = self.write()
        assert_same([self])
        return method

    def write(self) -> RefreshMethod:
        """Refreshes the view, and says by which method."""
        query = self._query = self.tables.spark.sql(self.tables.query(self.text))
        names = {path: name for name, path in self.tables.paths.items()}
        refresh = choose_refresh(
            query, View(self.path, names, self.last, by_cost=False, rewritten_below=self.rewritten_below), {}
        )
        if refresh.in_full is None:
            writer = refresh.rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
            writer.save(self.path)
        else:
            write_refresh(
                refresh, refresh.rows, [], path=self.path, replacement=Replacement(keeps_schema=True), conf={}
            )
        self.last = None if refresh.versions is None else dict(refresh.versions)
        self.choice = refresh.choice
        return refresh.choice.method

    def query(self) -> DataFrame:
        """Returns what the view should have; Delta reads tables as they are when it runs."""
        assert self._query is not None, "`write` has been called"
        return self._query

    def stored(self) -> DataFrame:
        """Returns what the view has."""
        return self.tables.spark.read.format("delta").load(self.path)


def assert_same(views: Sequence[RandomView]) -> None:
    """Fails when a view does not have the rows of its query: all are read in one job, and counted as text."""
    sides = [
        _as_text(rows, f"{number}{sign}")
        for number, view in enumerate(views)
        for sign, rows in (("+", view.stored()), ("-", view.query()))
    ]
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for side, text in reduce(DataFrame.unionAll, sides).collect():
        rows[side][text] += 1
    for number, view in enumerate(views):
        if rows[f"{number}+"] != rows[f"{number}-"]:  # as text, 0.0 is not -0.0
            difference = compare_rows(view.stored(), view.query(), limit=5)
            assert difference.same, (view.text, view.choice, difference)


def _as_text(rows: DataFrame, side: str) -> DataFrame:
    numbered = rows.toDF(*(f"c{position}" for position in range(len(rows.columns))))
    whole = {"ignoreNullFields": "false", **dict.fromkeys(("timestampFormat", "timestampNTZFormat"), _MICROSECONDS)}
    return numbered.select(sf.lit(side).alias("side"), sf.to_json(sf.struct("*"), whole).alias("text"))

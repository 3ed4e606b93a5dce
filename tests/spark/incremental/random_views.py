"""Random queries and histories of their tables, by seed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

from pyspark.sql import SparkSession

from penstock.events import RefreshMethod
from penstock.spark.plans.row_difference import compare_rows
from penstock.spark.streams.writes import Replacement
from penstock.spark.writers.incremental.refresh import View, choose_refresh
from penstock.spark.writers.incremental.write import write_refresh

_FACTS = """
    SELECT id, CASE WHEN id % 11 = 0 THEN NULL ELSE id % 5 END AS k, CAST(id % 17 AS DECIMAL(12,2)) AS v,
        CASE WHEN id % 13 = 0 THEN double('NaN') WHEN id % 7 = 0 THEN NULL ELSE id / 2D END AS d,
        concat('s', id % 3) AS s, timestamp_seconds(id * 1801) AS t, array(id % 2, id % 3) AS xs
    FROM range({first}, {last})
"""
_NAMES = "SELECT id AS k, concat('n', id % 4) AS name, id % 2 AS g FROM range({first}, {last})"


class RandomTables:
    """A fact table `f` and a table of names `n`, and what happens to them."""

    def __init__(self, spark: SparkSession, folder: Path, random: Random) -> None:
        self.spark, self.random = spark, random
        self.paths = {name: str(folder / name) for name in ("f", "n")}
        self._next = 40
        vectors = str(random.random() < 0.5).lower()
        for name, query in (("f", _FACTS.format(first=0, last=40)), ("n", _NAMES.format(first=0, last=5))):
            writer = spark.sql(query).write.format("delta").option("delta.enableDeletionVectors", vectors)
            writer.save(self.paths[name])

    def query(self, text: str) -> str:
        """Returns a query over `f` and `n` as one over the stored tables."""
        return text.format(f=f"delta.`{self.paths['f']}`", n=f"delta.`{self.paths['n']}`")

    def change(self) -> str:
        """Changes the tables in a random way; returns how."""
        one = self.random.choice(list(_CHANGES))
        for statement in _CHANGES[one]:
            first, last = self._next, self._next + self.random.randint(1, 6)
            some = self.random.randint(2, 9)
            facts, names = _FACTS.format(first=first, last=last), _NAMES.format(first=first % 7, last=first % 7 + 1)
            text = self.query(statement).replace("<facts>", facts).replace("<names>", names)
            self.spark.sql(text.replace("<n>", str(some)).replace("<last>", str(last)))
            self._next = last
        return one


_CHANGES = {
    "rows arrive": ["INSERT INTO {f} <facts>"],
    "equal rows arrive": ["INSERT INTO {f} SELECT * FROM {f} WHERE id % <n> = 1"],
    "rows arrive twice": ["INSERT INTO {f} <facts>", "INSERT INTO {f} <facts>"],
    "rows go": ["DELETE FROM {f} WHERE id % <n> = 0"],
    "a group goes": ["DELETE FROM {f} WHERE k = <n> % 5"],
    "rows change": ["UPDATE {f} SET v = v + 1, k = k + 1 WHERE id % <n> = 1"],
    "rows are merged": [
        (
            "MERGE INTO {f} t USING (<facts>) s ON t.id = s.id + <n> - 40"
            " WHEN MATCHED THEN UPDATE SET t.v = s.v, t.s = s.s WHEN NOT MATCHED THEN INSERT *"
        )
    ],
    "names change": ["UPDATE {n} SET name = 'other', g = 1 - g WHERE k = <n> % 5"],
    "names come": ["INSERT INTO {n} <names>"],
    "names go": ["DELETE FROM {n} WHERE k = <n> % 5"],
    "both": ["INSERT INTO {f} <facts>", "DELETE FROM {n} WHERE k = <n> % 3", "INSERT INTO {n} <names>"],
    "files are put together": ["OPTIMIZE {f}"],
    "rows arrive and files are put together": [
        "INSERT INTO {f} <facts>",
        "OPTIMIZE {f}",
        "DELETE FROM {f} WHERE id % 9 = 2",
    ],
    "all is written again": ["INSERT OVERWRITE {f} SELECT * FROM {f}"],
    "a column comes": ["ALTER TABLE {n} ADD COLUMNS (extra_<last> INT)", "INSERT INTO {f} <facts>"],
}


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
    "SELECT DISTINCT k, s FROM ({rows}) WHERE {where}",
    "SELECT k, id, rank() OVER (PARTITION BY k, s ORDER BY v) AS place FROM ({rows})",
    "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY v DESC, id) AS p FROM ({rows})) WHERE p < 3",
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

    def refresh(self) -> RefreshMethod:
        """Refreshes the view; it fails when the rows are not those of the query."""
        spark = self.tables.spark
        query = spark.sql(self.tables.query(self.text))
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
        difference = compare_rows(spark.read.format("delta").load(self.path), query, limit=5)
        assert difference.same, (self.text, refresh.choice, difference)
        return refresh.choice.method

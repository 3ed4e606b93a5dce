"""Random tables, and what happens to them, by seed."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

from pyspark.sql import SparkSession

_FACTS: Final = """
    SELECT id, CAST(CASE WHEN id % 11 = 0 THEN NULL ELSE id % 5 END AS {k}) AS k, CAST(id % 17 AS {v}) AS v,
        CAST(CASE WHEN id % 13 = 0 THEN double('NaN') WHEN id % 7 = 0 THEN NULL ELSE id / 2D END AS {d}) AS d,
        concat('s', id % 3) AS s, CAST(timestamp_seconds(id * 1801) AS {t}) AS t, array(id % 2, id % 3) AS xs
    FROM range({first}, {last})
"""
_NAMES: Final = "SELECT id AS k, concat('n', id % 4) AS name, id % 2 AS g FROM range({first}, {last})"
_TYPES: Final = {
    "k": ("BIGINT", "INT", "SMALLINT", "DECIMAL(5,0)"),
    "v": ("DECIMAL(12,2)", "DECIMAL(20,4)", "INT", "BIGINT"),
    "d": ("DOUBLE", "FLOAT"),
    "t": ("TIMESTAMP", "TIMESTAMP_NTZ", "DATE"),
}


class RandomTables:
    """A fact table `f` and a table of names `n`, with columns of random types, and what happens to them."""

    def __init__(self, spark: SparkSession, folder: Path, random: Random) -> None:
        self.spark, self.random = spark, random
        self.paths = {name: str(folder / name) for name in ("f", "n")}
        self._types = {name: random.choice(types) for name, types in _TYPES.items()}
        self._next = 40
        vectors = str(random.random() < 0.5).lower()
        for name, query in (("f", self._facts(0, 40)), ("n", _NAMES.format(first=0, last=5))):
            rows = spark.sql(query)
            rows = rows.toDF(*(random.choice((each, each.upper())) for each in rows.columns))
            rows.write.format("delta").option("delta.enableDeletionVectors", vectors).save(self.paths[name])

    def query(self, text: str) -> str:
        """Returns a query over `f` and `n` as one over the stored tables."""
        return text.format(f=f"delta.`{self.paths['f']}`", n=f"delta.`{self.paths['n']}`")

    def change(self) -> str:
        """Changes the tables in a random way; returns how."""
        one = self.random.choice(list(_CHANGES))
        for statement in _CHANGES[one]:
            first, last = self._next, self._next + self.random.randint(1, 6)
            some = self.random.randint(2, 9)
            facts, names = self._facts(first, last), _NAMES.format(first=first % 7, last=first % 7 + 1)
            text = self.query(statement).replace("<facts>", facts).replace("<names>", names)
            numbers = {"<n>": some, "<first>": first, "<last>": last}
            for name, number in numbers.items():
                text = text.replace(name, str(number))
            self.spark.sql(text)
            self._next = last
        return one

    def _facts(self, first: int, last: int) -> str:
        return _FACTS.format(first=first, last=last, **self._types)


_CHANGES: Final = {
    "rows arrive": ["INSERT INTO {f} <facts>"],
    "equal rows arrive": ["INSERT INTO {f} SELECT * FROM {f} WHERE id % <n> = 1"],
    "rows arrive twice": ["INSERT INTO {f} <facts>", "INSERT INTO {f} <facts>"],
    "rows come and go": ["INSERT INTO {f} <facts>", "DELETE FROM {f} WHERE id = <first> - 1"],
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
    "names come": ["INSERT INTO {n} (k, name, g) <names>"],
    "names go": ["DELETE FROM {n} WHERE k = <n> % 5"],
    "both": ["INSERT INTO {f} <facts>", "DELETE FROM {n} WHERE k = <n> % 3", "INSERT INTO {n} (k, name, g) <names>"],
    "files are put together": ["OPTIMIZE {f}"],
    "rows arrive and files are put together": [
        "INSERT INTO {f} <facts>",
        "OPTIMIZE {f}",
        "DELETE FROM {f} WHERE id % 9 = 2",
    ],
    "all is written again": ["INSERT OVERWRITE {f} SELECT * FROM {f}"],
    "all rows go and others come": ["DELETE FROM {f}", "INSERT INTO {f} <facts>"],
    "a table is as it was once": ["RESTORE TABLE {f} TO VERSION AS OF 0"],
    "a column comes": ["ALTER TABLE {n} ADD COLUMNS (extra_<last> INT)", "INSERT INTO {f} <facts>"],
}

"""A generated pipeline of many tables, for timing analysis: chains of streaming tables, each with a view at its end."""

from __future__ import annotations

from pathlib import Path

_CHAIN = 10

_HEAD = '''"""Generated for a benchmark."""

import penstock as ps
from pyspark.sql import functions as f

'''

_SOURCE = """
@ps.table
def {name}():
    return spark.readStream.format("rate").load().withColumn("amount", f.col("value") * 1.5)
"""

_STEP = """
@ps.table
@ps.expect_or_drop("positive_{name}", "amount > 0")
def {name}():
    return ps.read_stream("{before}").withColumn("c_{name}", f.col("amount") + {number})
"""

_END = """
@ps.materialized_view
def {name}():
    return ps.read("{before}").groupBy("value").agg(f.sum("amount").alias("amount"))
"""


_SQL_SOURCE = """
CREATE OR REFRESH STREAMING TABLE {name}
AS SELECT *, value * 1.5 AS amount FROM STREAM read_files("./data", format => "json", schema => "value LONG");
"""

_SQL_STEP = """
CREATE OR REFRESH STREAMING TABLE {name} (
  CONSTRAINT positive_{name} EXPECT (amount > 0) ON VIOLATION DROP ROW
)
AS SELECT *, amount + {number} AS c_{name} FROM STREAM({before});
"""

_SQL_END = """
CREATE OR REFRESH MATERIALIZED VIEW {name}
AS SELECT value, sum(amount) AS amount FROM LIVE.{before} GROUP BY value;
"""


def write_pipeline(folder: Path, tables: int, *, sql: bool = False) -> None:
    """Writes a pipeline with `tables` tables in chains of ten into the new folder, in Python or in SQL."""
    sources = folder / "transformations"
    sources.mkdir(parents=True)
    (folder / "penstock.yml").write_text("name: large\nschema: bench\n")
    (folder / "data").mkdir()
    (folder / "data" / "1.json").write_text('{"value": 1}\n')
    source, step, end = (_SQL_SOURCE, _SQL_STEP, _SQL_END) if sql else (_SOURCE, _STEP, _END)
    for first in range(0, tables, _CHAIN):
        text = "" if sql else _HEAD
        for number in range(first, min(first + _CHAIN, tables)):
            position = number - first
            template = source if position == 0 else end if position == _CHAIN - 1 else step
            text += template.format(name=f"t{number:03d}", before=f"t{number - 1:03d}", number=number)
        (sources / f"chain_{first // _CHAIN:02d}.{'sql' if sql else 'py'}").write_text(text)

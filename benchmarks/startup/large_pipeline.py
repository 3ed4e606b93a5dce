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


def write_pipeline(folder: Path, tables: int) -> None:
    """Writes a pipeline with `tables` tables in chains of ten into the new folder."""
    sources = folder / "transformations"
    sources.mkdir(parents=True)
    (folder / "penstock.yml").write_text("name: large\nschema: bench\n")
    for first in range(0, tables, _CHAIN):
        text = _HEAD
        for number in range(first, min(first + _CHAIN, tables)):
            position = number - first
            template = _SOURCE if position == 0 else _END if position == _CHAIN - 1 else _STEP
            text += template.format(name=f"t{number:03d}", before=f"t{number - 1:03d}", number=number)
        (sources / f"chain_{first // _CHAIN:02d}.py").write_text(text)

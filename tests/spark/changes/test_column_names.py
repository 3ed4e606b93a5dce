"""AUTO CDC over columns with blanks, dots and punctuation in their names, from Python and SQL."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from deltalake import QueryBuilder
from tests.spark.pipeline_project import PipelineProject

from penstock.storage.delta.table import open_delta_table

SHOP = """
def source():
    rows = spark.readStream.schema("id BIGINT, seq BIGINT, op STRING, price DOUBLE").json("in")
    return rows.select(
        F.col("id").alias("order id"), F.col("seq").alias("seq.no"), F.col("op").alias("the op"),
        F.struct(F.col("price").alias("unit price")).alias("p (eur)"), F.lit("x").alias("left out"),
    )

@dlt.view
def changes():
    return source()

for scd in (1, 2):
    dlt.create_streaming_table(f"latest_{scd}", cluster_by=["`order id`", "`seq.no`"])
    dlt.apply_changes(
        f"latest_{scd}", source="changes", keys=["`order id`"], sequence_by=F.col("`seq.no`"),
        apply_as_deletes="`the op` = 'D'", column_list=["order id", "`seq.no`", "p (eur)"], stored_as_scd_type=scd,
        **({"track_history_column_list": ["`p (eur)`"]} if scd == 2 else {}),
    )

dlt.create_streaming_table("from_snapshots", cluster_by=["order id"])
dlt.apply_changes_from_snapshot("from_snapshots", source="snapshot", keys=["order id"], stored_as_scd_type=2)

@dlt.view
def snapshot():
    rows = spark.read.schema("id BIGINT, price DOUBLE").json("in")
    return rows.groupBy(F.col("id").alias("order id")).agg(F.max("price").alias("max.price"))
"""
QUERY = """
CREATE OR REFRESH STREAMING TABLE by_sql CLUSTER BY (`seq.no`, `order id`);
CREATE FLOW apply_sql AS AUTO CDC INTO by_sql FROM STREAM(changes)
KEYS (`order id`) APPLY AS DELETE WHEN `the op` = 'D' SEQUENCE BY `seq.no`
COLUMNS * EXCEPT (`the op`, `left out`) STORED AS SCD TYPE 1;
"""


def _row(number: int, sequence: int, op: str, price: float) -> dict[str, Any]:
    return {"id": number, "seq": sequence, "op": op, "price": price}


def _rows(project: PipelineProject, table: str) -> list[dict[str, Any]]:
    query = QueryBuilder().register("rows", open_delta_table(str(project.path(table))))
    rows = pa.table(query.execute("SELECT * FROM rows").read_all()).to_pylist()
    return sorted(rows, key=lambda row: (row["order id"], row.get("__START_AT") or 0))


@pytest.mark.slow
def test_changes_of_columns_with_any_name(project: PipelineProject) -> None:
    project.write(SHOP)
    (project.directory / "more.sql").write_text(QUERY, encoding="utf-8")
    project.arrive("1", [_row(1, 1, "I", 1.0), _row(2, 1, "I", 2.0)])
    assert [str(error) for error in project.run().errors] == []
    project.arrive("2", [_row(1, 2, "U", 1.5), _row(2, 2, "D", 0.0), _row(3, 2, "I", 3.0)])
    assert [str(error) for error in project.run().errors] == []
    latest = [{"order id": 1, "seq.no": 2, "p (eur)": {"unit price": 1.5}},
              {"order id": 3, "seq.no": 2, "p (eur)": {"unit price": 3.0}}]  # fmt: skip
    assert _rows(project, "latest_1") == _rows(project, "by_sql") == latest
    history = [(row["order id"], row["p (eur)"]["unit price"], row["__END_AT"]) for row in _rows(project, "latest_2")]
    assert history == [(1, 1.0, 2), (1, 1.5, None), (2, 2.0, 2), (3, 3.0, None)]
    current = [row for row in _rows(project, "from_snapshots") if row["__END_AT"] is None]
    assert [(row["order id"], row["max.price"]) for row in current] == [(1, 1.5), (2, 2.0), (3, 3.0)]

"""A quarantine is read by its name in the pipeline of its table, from the first update on."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.oracle.tables import read_table
from tests.projected import projected
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import StateError
from penstock.observe.lineage import LineageEdge, LineageProjection
from penstock.observe.stored import tables as stored
from penstock.observe.stored.companions import find_quarantine

Row = dict[str, Any]
_ROWS: list[Row] = [{"id": n, "amount": n - 12, "customer": n % 3 or None} for n in range(30)]

# The readers come first: nothing of what they read has been analysed, or exists, when they are asked.
PIPELINE = """
@dlt.table
def repaired():
    return dlt.read_stream("orders__quarantine").selectExpr("id", "-amount AS amount", "_quarantine_rules AS rules")

@dlt.table(private=True)
@dlt.expect_or_quarantine("positive", "amount > 0")
@dlt.expect_or_quarantine("early", "id < 25")
def orders():
    return spark.readStream.schema("id LONG, amount LONG, customer LONG").json("in")

@dlt.table(table_properties={"delta.columnMapping.mode": "name"})
@dlt.expect_or_quarantine("positive", "`order amount` > 0")
def mapped():
    return dlt.read_stream("orders__quarantine").selectExpr("id", "amount AS `order amount`")

dlt.create_streaming_table("customers")
dlt.apply_changes("customers", "orders", ["customer"], "id", column_list=["customer", "amount"])
"""
SQL = """
CREATE OR REFRESH STREAMING TABLE nobody AS SELECT id FROM STREAM(LIVE.customers__quarantine);
CREATE OR REFRESH MATERIALIZED VIEW by_rule AS
  SELECT rule, count(*) AS rows FROM orders__quarantine LATERAL VIEW explode(_quarantine_rules) AS rule GROUP BY 1;
"""


def _bad(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["amount"] <= 0 or row["id"] >= 25]


def _assert_readers(project: PipelineProject, aside: list[Row], good: list[Row]) -> None:
    assert project.rows("repaired", "id", "amount") == [(row["id"], -row["amount"]) for row in aside]
    rules = Counter(positive=sum(row["amount"] <= 0 for row in aside), early=sum(row["id"] >= 25 for row in aside))
    assert dict(project.rows("by_rule", "rule", "rows")) == dict(+rules)
    mapped = find_quarantine(str(project.directory / ".penstock"), "mapped", default_schema="shop")
    shown = stored.read_table(mapped, limit=100)
    assert shown.columns[:2] == ("id", "order amount")
    assert sorted(row[0] for row in shown.rows) == [row["id"] for row in aside if row["amount"] <= 0]
    assert project.rows("nobody", "id") == [row["id"] for row in good if row["customer"] is None]


def test_it_is_read_by_name_in_the_first_update_and_after_a_repair(project: PipelineProject) -> None:
    project.write(PIPELINE)
    (project.directory / "readers.sql").write_text(SQL)
    project.arrive("1", _ROWS[:20])
    first = project.run()
    assert first.errors == ()
    good = [row for row in _ROWS if row not in _bad(_ROWS)]
    _assert_readers(project, _bad(_ROWS[:20]), good[: len(_ROWS[:20]) - len(_bad(_ROWS[:20]))])
    edges = projected(LineageProjection(), project.events(first)).lineage().edges
    assert {LineageEdge("shop.orders", name) for name in ("shop.repaired", "shop.by_rule", "shop.mapped")} <= set(edges)
    properties = DeltaTable(project.path("orders__quarantine")).metadata().configuration
    assert properties["penstock.private"] == "true"

    # What is repaired by hand in the quarantine is not new to those who stream from it.
    aside = DeltaTable(project.path("orders__quarantine"))
    aside.update(predicate="id = 3", updates={"amount": "100"})
    project.arrive("2", _ROWS[20:])
    assert project.run().errors == ()
    _assert_readers(project, _bad(_ROWS), good)
    assert {row["amount"] for row in read_table(project.path("orders__quarantine")) if row["id"] == 3} == {100}

    with pytest.raises(StateError) as refused:
        project.run(full_refresh=("orders",))
    assert refused.value.condition == "FULL_REFRESH_BREAKS_READERS"
    assert "shop.repaired" in refused.value.facts["readers"]

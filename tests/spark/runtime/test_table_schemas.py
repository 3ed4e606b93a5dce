"""Declared schemas on the disk: types, NOT NULL, comments, generated columns; and rows that do not fit."""

from __future__ import annotations

import datetime

import pytest
from deltalake import DeltaTable
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import StateError
from penstock.runtime.commands.replay import replay_quarantine

SHOP = """
SCHEMA = '''
    number BIGINT GENERATED ALWAYS AS IDENTITY,
    id BIGINT NOT NULL COMMENT 'the order''s number',
    day DATE GENERATED ALWAYS AS (CAST(at AS DATE)),
    at TIMESTAMP,
    later DOUBLE
'''

@dlt.table(schema=SCHEMA)
def orders():
    return spark.readStream.schema("id INT, at TIMESTAMP").json("in")

@dlt.table(schema="id BIGINT NOT NULL, day DATE GENERATED ALWAYS AS (CAST(at AS DATE)), at TIMESTAMP")
@dlt.expect_or_quarantine("known", "id IS NOT NULL")
def checked():
    return spark.readStream.schema("id STRING, at TIMESTAMP").json("in")

@dlt.table
def reads():
    return dlt.read_stream("orders").select("id", "day")

@dlt.table(schema="ID BIGINT NOT NULL, day DATE GENERATED ALWAYS AS (CAST(at AS DATE)), at TIMESTAMP, later DOUBLE")
def refreshed():
    return dlt.read("orders").where("id IS NOT NULL").select(F.col("id").cast("int").alias("id"), "at")

@dlt.table(schema="id BIGINT NOT NULL")
def strict():
    return spark.range(1, 4).select("id")

@dlt.table(schema="id STRING COMMENT 'as text', more INT")
def lenient():
    return dlt.read("orders").select("id")
"""
DAY = datetime.date(2026, 1, 2)


def _columns(project: PipelineProject, table: str) -> dict[str, tuple[str, bool, str | None]]:
    fields = DeltaTable(project.path(table)).schema().fields
    return {field.name: (str(field.type.type), field.nullable, field.metadata.get("comment")) for field in fields}


@pytest.mark.slow
def test_declared_schemas(project: PipelineProject) -> None:
    project.arrive("1", [{"id": n, "at": "2026-01-02T03:04:05Z"} for n in (1, 2, 3)])
    project.write(SHOP)
    first = project.run()
    assert [str(error) for error in first.errors] == []
    assert set(project.written(first).values()) == {3}
    assert project.rows("orders", "id", "day", "later") == [(n, DAY, None) for n in (1, 2, 3)]
    assert len(set(project.rows("orders", "number"))) == 3
    assert project.rows("reads", "id", "day") == project.rows("refreshed", "ID", "day") == [(n, DAY) for n in (1, 2, 3)]
    assert project.rows("lenient", "id", "more") == [(n, None) for n in "123"]
    assert _columns(project, "orders")["id"] == ("long", False, "the order's number")
    assert _columns(project, "refreshed")["ID"] == ("long", False, None)
    assert _columns(project, "lenient") == {"id": ("string", True, "as text"), "more": ("integer", True, None)}

    stored = {name: project.version(name) for name in ("orders", "strict")}
    project.arrive("2", [{"id": None, "at": "2026-01-03T00:00:00Z"}, {"id": 4, "at": "2026-01-03T00:00:00Z"}])
    project.write(SHOP.replace('spark.range(1, 4).select("id")', 'spark.range(1, 4).selectExpr("nullif(id, 1) AS id")'))
    broken = project.run(refresh=("orders", "checked", "strict"))
    assert sorted((error.condition, error.facts["column"], error.dataset) for error in broken.errors) == [
        ("NOT_NULL_VIOLATED", "id", "shop.orders"),
        ("NOT_NULL_VIOLATED", "id", "shop.strict"),
    ]
    assert {name: project.version(name) for name in stored} == stored, "nothing of the batch was written"
    assert project.rows("checked", "id", "day")[2:] == [(3, DAY), (4, DAY + datetime.timedelta(1))]
    assert project.rows("checked__quarantine", "id", "_quarantine_rules") == [(None, ["known"])]
    DeltaTable(project.path("checked__quarantine")).update(updates={"id": "'5'"})
    replay_quarantine(project.config, "checked", progress=lambda _: None, spark=project.spark)
    assert project.rows("checked", "id", "day")[4:] == [(5, DAY + datetime.timedelta(1))]

    project.write(
        SHOP.replace("later DOUBLE\n", "later DOUBLE NOT NULL\n").replace(
            '"id INT, at TIMESTAMP"', '"id INT, at TIMESTAMP, later DOUBLE"'
        )
    )
    with pytest.raises(StateError) as changed:
        project.run()
    assert (changed.value.condition, changed.value.facts["column"]) == ("COLUMN_CONSTRAINT_CHANGED", "later")

    project.write(SHOP.replace("id BIGINT NOT NULL COMMENT", "id BIGINT COMMENT"))
    assert [str(error) for error in project.run().errors] == []
    assert project.rows("orders", "id") == [1, 2, 3, 4, None]
    assert _columns(project, "orders")["id"][1] is True
    assert _columns(project, "refreshed")["ID"] == ("long", False, None), "a refresh keeps what is declared"
    assert project.rows("refreshed", "ID") == [1, 2, 3, 4]

"""Values that Spark can hold, and Python or JSON cannot: as `penstock show` and `penstock sql` give them."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta

import pytest
from tests.spark.pipeline_project import PipelineProject

from penstock.cli.screen.rows import print_rows
from penstock.dashboard.table_reader import answer
from penstock.observe.stored.companions import find_quarantine
from penstock.observe.stored.tables import find_table, read_table
from penstock.runtime.commands.query import run_sql

SHOP = """
@dlt.table
@dlt.expect_or_quarantine("first", "id = 1")
def extremes():
    return spark.sql('''
        SELECT id, DATE'+10000-01-01' AS day, TIMESTAMP_NTZ'-0001-01-01 00:00:00.5' AS local, double('NaN') AS n,
            array(struct(IF(id > 0, DATE'-0001-03-01', NULL) AS d, double('-Infinity') AS f)) AS nested,
            map(DATE'+12345-01-01', 1) AS by_day,
            CAST('12345678901234567890123456789012345.678' AS DECIMAL(38, 3)) AS digits, x'ff00' AS bytes,
            concat('a', char(27), char(0)) AS text
        FROM range(1, 3)''')

@dlt.table
def variants():
    return spark.sql("SELECT parse_json('{}') AS v")
"""
STORED = {
    "day": "+10000-01-01", "local": "-0001-01-01T00:00:00.500000", "n": "NaN",
    "nested": [{"d": "-0001-03-01", "f": "-Infinity"}], "by_day": [["+12345-01-01", 1]],
    "digits": "12345678901234567890123456789012345.678", "bytes": "/wA=", "text": "a\x1b\0",
}  # fmt: skip
QUERY = """
SELECT extremes.* EXCEPT (id), TIMESTAMP'+10000-01-01 00:00:00' AS at, TIMESTAMP_NTZ'2026-01-02 03:04:05' AS near,
    INTERVAL '1-2' YEAR TO MONTH AS months, INTERVAL '1 02:00:00' DAY TO SECOND AS span,
    map(struct(1 AS a), 1L) AS keyed,
    array(INTERVAL '1' YEAR) AS years, parse_json('{"a": 12345678901234567890.5}') AS v, id, id
FROM extremes
"""


def test_values_of_any_kind_are_shown(project: PipelineProject, capsys: pytest.CaptureFixture[str]) -> None:
    project.write(SHOP)
    assert [str(error) for error in project.run().errors] == []
    storage = project.config.storage

    found = read_table(find_table(storage, "extremes", default_schema="shop"), limit=5)
    print_rows(found.columns, found.rows, as_json=True)
    assert json.loads(capsys.readouterr().out) == [{"id": 1, **STORED}]
    print_rows(found.columns, found.rows, as_json=False)
    assert "\x1b" not in capsys.readouterr().out
    [aside] = read_table(find_quarantine(storage, "extremes", default_schema="shop"), limit=5).rows
    assert aside[:2] == (2, "+10000-01-01")
    for kind in ("table", "quarantine"):
        told = answer({"kind": kind, "storage": storage, "name": "shop.extremes"})
        assert json.dumps(told, allow_nan=False)
        assert told["rows"][0][1:5] == [
            "+10000-01-01",
            "-0001-01-01T00:00:00.500000",
            "NaN",
            json.dumps(STORED["nested"]),
        ]
    [[variant]] = read_table(find_table(storage, "variants", default_schema="shop"), limit=5).rows
    assert set(variant) == {"metadata", "value"}, "its encoding; Spark decodes it"

    columns, rows = run_sql(project.config, QUERY, spark=project.spark)
    print_rows(columns, rows, as_json=True)
    [row] = json.loads(capsys.readouterr().out)
    assert {name: row[name] for name in STORED} == {**STORED, "local": "-0001-01-01T00:00:00.5"}
    assert row["at"] == "+10000-01-01T00:00:00"
    assert (row["near"], row["span"]) == ("2026-01-02T03:04:05", timedelta(days=1, hours=2).total_seconds())
    assert (row["months"], row["years"]) == ("INTERVAL '1-2' YEAR TO MONTH", ["INTERVAL '1' YEAR"])
    assert (row["keyed"], row["v"]) == ([[{"a": 1}, 1]], '{"a":12345678901234567890.5}')
    assert (row["id"], row["id_2"]) == (1, 1)
    _, [near] = run_sql(
        project.config, "SELECT DATE'2026-01-02', TIMESTAMP_NTZ'2026-01-02 00:00:00'", spark=project.spark
    )
    assert near == (date(2026, 1, 2), datetime(2026, 1, 2, tzinfo=UTC).replace(tzinfo=None))

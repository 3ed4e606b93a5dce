"""Queries that read a version of the past."""

from __future__ import annotations

from tests.spark.pipeline_project import PipelineProject

ROWS = [
    {"id": 1, "at": "2026-01-01 10:01:00", "raw": '{"a": {"b c": 1, "d": [5, 6]}, "k": "x"}', "n": 1, "m": 2},
    {"id": 2, "at": "2026-01-01 10:11:00", "raw": '{"a": {"d": [7]}}', "n": 3, "m": 4},
    {"id": 3, "at": "2026-01-01 12:00:00", "raw": None, "n": 5, "m": 6},
]

SOURCES = """
@dlt.table
def orders():
    return spark.readStream.schema("id INT, at TIMESTAMP, raw STRING, n INT, m INT").json("in")

@dlt.table
def people():
    return spark.createDataFrame([(1, "Ann"), (2, "Bob")], "id INT, name STRING")

@dlt.view
def seen():
    return spark.read.table("people")

"""


def test_a_view_has_no_past(project: PipelineProject) -> None:
    project.arrive("1", ROWS)
    project.write(SOURCES + "@dlt.table\ndef past():\n    return spark.sql('SELECT * FROM seen VERSION AS OF 1')\n")
    (error,) = project.validate().errors
    assert (error.condition, error.facts["name"]) == ("TIME_TRAVEL_ON_VIEW", "shop.seen")
    assert error.position is not None
    assert error.position.column == 15

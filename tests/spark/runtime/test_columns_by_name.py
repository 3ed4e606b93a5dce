"""Rows whose query spells, orders or types columns and fields otherwise than their table: by name, and counted."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import PipelineInvalid

SHOP = """
def source():
    return spark.readStream.schema("id BIGINT, seq BIGINT, lat DOUBLE, lon DOUBLE").json("in")

def place(*names):
    return F.struct(*(F.col(name[:3].lower()).alias(name) for name in names))

BEFORE = [
    F.col("id").alias("value"), F.col("seq").alias("n"), F.lit("1.50").cast("decimal(10,2)").alias("price"),
    place("lat", "lon").alias("pos"), F.array(place("lat", "lon")).alias("all"), place("lat", "lon").alias("half"),
    F.create_map(place("lat", "lon"), place("lat", "lon")).alias("ways"),
]
AFTER = [
    F.col("id").alias("Value"), F.col("seq").cast("int").alias("n"), F.lit("1.5").cast("decimal(5,1)").alias("price"),
    place("lon", "lat").alias("pos"), F.array(place("LON", "lat")).alias("all"), place("lon").alias("half"),
    F.create_map(place("lon", "lat"), place("lon", "lat")).alias("ways"), F.lit(1).alias("added"),
]

@dlt.table
@dlt.expect_or_drop("not nine", "id <> 9")
def plain():
    return source().select("id", *NOW)

@dlt.table
@dlt.expect_or_quarantine("positive", "id > 0")
def checked():
    return source().select("id", *NOW)

dlt.create_streaming_table("latest")
dlt.apply_changes("latest", source="changes", keys=["id"], sequence_by="seq", stored_as_scd_type=2)

@dlt.view
def changes():
    return source().select("id", "seq", *NOW)

ps.create_sink("outside", "delta", {"path": "outside", "mergeSchema": "true"})

@dlt.append_flow(target="outside")
def into_outside():
    return source().select("id", *NOW)

dlt.create_streaming_table("filled")

@dlt.append_flow(target="filled", once=True, name=f"fill_{len(NOW)}")
def fill():
    return spark.createDataFrame([(1, 1, 1.0, 2.0)], "id BIGINT, seq BIGINT, lat DOUBLE, lon DOUBLE").select(*NOW)
"""
DECLARED = """
WAY = "STRUCT<lon: DOUBLE, lat: DOUBLE, height: INT>"
SCHEMA = f"id BIGINT, pos {WAY}, `all` ARRAY<{WAY}>, ways MAP<STRING, {WAY}>"

def rows(frame):
    pos = F.struct("lat", "lon")
    return frame.select("id", pos.alias("pos"), F.array(pos).alias("all"), F.create_map(F.lit("a"), pos).alias("ways"))

@dlt.table(schema=SCHEMA)
def streamed():
    return rows(spark.readStream.schema("id BIGINT, lat DOUBLE, lon DOUBLE").json("in"))

@dlt.table(schema=SCHEMA)
def computed():
    return rows(spark.read.schema("id BIGINT, lat DOUBLE, lon DOUBLE").json("in"))

@dlt.table(schema=SCHEMA)
@dlt.expect_or_quarantine("positive", "id > 0")
def checked():
    return rows(spark.readStream.schema("id BIGINT, lat DOUBLE, lon DOUBLE").json("in"))
"""
QUERY = """
CREATE OR REFRESH STREAMING TABLE from_sql (id BIGINT, pos STRUCT<lon: DOUBLE, lat: DOUBLE>) AS
SELECT id, struct(lat, lon) AS pos
FROM STREAM read_files('in', format => 'json', schema => 'id INT, lat DOUBLE, lon DOUBLE')
"""


def _row(number: int) -> dict[str, Any]:
    return {"id": number, "seq": number, "lat": 1.0, "lon": 2.0}


@pytest.mark.slow
def test_other_spelling_order_and_types_are_stored_by_name_and_counted(project: PipelineProject) -> None:
    project.arrive("1", [_row(1), _row(2)])
    project.write(SHOP.replace("*NOW", "*BEFORE").replace("(NOW)", "(BEFORE)"))
    assert [str(error) for error in project.run().errors] == []
    project.arrive("2", [_row(3), _row(9), _row(-1)])
    project.write(SHOP.replace("*NOW", "*AFTER").replace("(NOW)", "(AFTER)"))
    second = project.run()
    assert [str(error) for error in second.errors] == []
    assert project.written(second) == {"plain": 2, "checked": 2, "latest": 3, "outside": 3, "filled": 1}
    assert project.quality(second)["plain", "not nine"] == (2, 1, "drop")
    accounts = [each.details["accounting"] for each in project.events(second) if "accounting" in each.details]
    assert {each["verdict"] for each in accounts if each["written"]} == {"BALANCED"}
    place, half = {"lat": 1.0, "lon": 2.0}, {"lat": None, "lon": 2.0}
    for table in ("plain", "checked", "filled"):
        rows = project.rows(table, "value", "n", "pos", "all", "half", "ways", "added") if table != "filled" else []
        for value, n, pos, places, halved, ways, added in rows:
            assert (value == n, pos, places, ways) == (True, place, [place], [(place, place)])
            assert (halved, added) == ((half, 1) if value in {3, -1, 9} else (place, None))


def test_declared_fields_are_filled_by_name(project: PipelineProject) -> None:
    project.arrive("1", [{"id": 1, "lat": 1.0, "lon": 2.0}])
    project.write(DECLARED)
    (project.directory / "more.sql").write_text(QUERY, encoding="utf-8")
    assert [str(error) for error in project.run().errors] == []
    place = {"lon": 2.0, "lat": 1.0, "height": None}
    for table in ("streamed", "computed", "checked"):
        assert project.rows(table, "pos", "all", "ways") == [(place, [place], [("a", place)])]
    assert project.rows("from_sql", "pos") == [{"lon": 2.0, "lat": 1.0}]

    project.write(
        DECLARED.replace("height: INT>", "height: INT NOT NULL>", 1).replace('STRING, {WAY}>"', 'STRING, INT>"')
    )
    (project.directory / "more.sql").write_text(QUERY.replace("struct(lat, lon)", "struct(lat, lon, 1 AS h)"))
    with pytest.raises(PipelineInvalid) as invalid:
        project.run()
    found = {(error.condition, error.dataset, error.facts.get("column")) for error in invalid.value.errors}
    assert found == {
        ("COLUMN_TYPE_NOT_CASTABLE", f"shop.{table}", None) for table in ("streamed", "computed", "checked")
    }
    project.write(DECLARED.replace("height: INT>", "height: INT NOT NULL>", 1))
    with pytest.raises(PipelineInvalid) as invalid:
        project.run()
    found = {(error.condition, error.dataset, error.facts.get("column")) for error in invalid.value.errors}
    assert ("COLUMN_NOT_IN_DECLARED_SCHEMA", "shop.from_sql", "pos.h") in found
    assert ("NOT_NULL_COLUMN_NOT_FILLED", "shop.streamed", "all.element.height") in found

"""Options of tables as they end up on the disk, and `spark_conf` of a flow."""

from __future__ import annotations

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject

from penstock.graph.rules.table_properties import DELTA_PROPERTIES


def test_options_of_tables(
    project: PipelineProject, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    project.arrive("1", [{"id": n, "kind": f"k{n % 2}"} for n in range(4)])
    project.write(
        """
        @dlt.table(
            comment="it's the 'first' \\"one\\"",
            table_properties={"quality": "bronze", "delta.appendOnly": "true", "quote's": "a'b\\\\c"},
            partition_cols=["kind"],
        )
        def partitioned():
            return spark.readStream.schema("id LONG, kind STRING").json("in")

        @dlt.table(cluster_by=["id"], schema="id BIGINT COMMENT 'the number', kind STRING, later DOUBLE")
        def clustered():
            return dlt.read_stream("partitioned")

        @dlt.table(path="elsewhere/by path", partition_cols=["kind"])
        def by_path():
            return dlt.read("partitioned")

        @dlt.table(name="other.with_schema")
        def with_schema():
            return dlt.read("by_path")

        @dlt.table(name="odd name; 100%")
        def odd():
            return dlt.read("other.with_schema").where("kind = 'k1'")

        @dlt.table
        def reads_odd():
            return spark.sql("SELECT * FROM `odd name; 100%`")

        @dlt.table(temporary=True)
        def private():
            return dlt.read("by_path")

        @dlt.table(spark_conf={"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.ansi.enabled": "false"})
        def in_tokyo():
            return spark.range(1).select(
                F.date_format(F.timestamp_seconds(F.lit(0)), "HH").alias("hour"),
                F.expr("CAST('x' AS INT)").alias("none"),
            )

        @dlt.table(spark_conf={"spark.sql.session.timeZone": "America/New_York"})
        def in_new_york():
            hour = F.date_format(F.timestamp_seconds(F.lit(0)), "HH")
            return dlt.read_stream("partitioned").select(hour.alias("hour"))

        @dlt.table
        def in_utc():
            return spark.range(1).select(F.date_format(F.timestamp_seconds(F.lit(0)), "HH").alias("hour"))
        """
    )
    assert project.run().errors == ()
    partitioned = DeltaTable(project.path("partitioned"))
    metadata = partitioned.metadata()
    assert metadata.description == "it's the 'first' \"one\""
    assert metadata.partition_columns == ["kind"]
    wanted = {"quality": "bronze", "delta.appendOnly": "true", "quote's": "a'b\\c"}
    assert wanted.items() <= metadata.configuration.items()
    clustered = spark.sql(f"DESCRIBE DETAIL delta.`{project.path('clustered')}`").first()
    assert clustered is not None
    assert clustered["clusteringColumns"] == ["id"]
    schema = spark.read.format("delta").load(str(project.path("clustered"))).schema
    assert [(field.name, field.metadata.get("comment")) for field in schema] == [
        ("id", "the number"),
        ("kind", None),
        ("later", None),
    ]
    assert project.rows("clustered", "id", "later") == [(n, None) for n in range(4)]
    by_path = DeltaTable(project.directory / "elsewhere" / "by path")
    assert by_path.to_pyarrow_table().num_rows == 4
    assert by_path.metadata().partition_columns == ["kind"]
    assert DeltaTable(project.directory / ".penstock/tables/other/with_schema").to_pyarrow_table().num_rows == 4
    assert project.rows("reads_odd", "id") == [1, 3]
    assert project.rows("private", "id") == [0, 1, 2, 3]
    assert project.rows("in_tokyo", "hour", "none") == [("09", None)]
    assert set(project.rows("in_new_york", "hour")) == {"19"}
    assert project.rows("in_utc", "hour") == ["00"]
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"

    neighbour = PipelineProject(tmp_path_factory.mktemp("neighbour"), spark)
    neighbour.settings["storage"] = str(project.directory / ".penstock")
    neighbour.write("""
        @dlt.table
        def of_another_pipeline():
            return dlt.read("in_utc")

        @dlt.table
        def of_a_private_table():
            return dlt.read("private")
        """)
    [refused] = neighbour.validate().errors
    assert (refused.condition, refused.dataset) == ("TABLE_IS_PRIVATE", "shop.of_a_private_table")

    project.write(
        (project.directory / "pipeline.py").read_text().replace('"quality": "bronze"', '"quality": "silver"'),
    )
    versions = {name: project.version(name) for name in ("partitioned", "clustered")}
    assert project.run(refresh=("partitioned",)).errors == ()
    assert DeltaTable(project.path("partitioned")).metadata().configuration["quality"] == "silver"
    assert project.version("clustered") == versions["clustered"]
    assert project.version("partitioned") == versions["partitioned"] + 1
    assert project.run(refresh=("partitioned",)).errors == ()
    assert project.version("partitioned") == versions["partitioned"] + 1


def test_a_protected_table_survives_a_full_refresh_of_everything(project: PipelineProject) -> None:
    project.arrive("1", [{"id": 1}])
    project.write(
        """
        @dlt.table(table_properties={"pipelines.reset.allowed": "false"})
        def history():
            return spark.readStream.schema("id LONG").json("in")

        @dlt.table
        def later():
            return dlt.read_stream("history")
        """
    )
    assert project.run().errors == ()
    (project.directory / "in" / "1.json").unlink()
    project.arrive("2", [{"id": 2}])
    again = project.run(full_refresh_all=True)
    assert again.errors == ()
    assert project.rows("history", "id") == project.rows("later", "id") == [1, 2]
    assert project.written(again) == {"history": 1, "later": 2}


def test_the_known_table_properties_are_those_of_delta(spark: SparkSession) -> None:
    assert spark._jvm is not None
    configs = getattr(spark._jvm, "org.apache.spark.sql.delta.DeltaConfigs$").__getattr__("MODULE$").getAllConfigs()
    names = [configs.get(name).get().key() for name in configs.keySet().mkString(",").split(",")]
    assert sorted(names) == sorted(DELTA_PROPERTIES)

"""A read of another catalog is that catalog's table or none, never the pipeline's table of that schema and name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import DefinitionError
from penstock.events import EventType, UpdateState
from penstock.observe.status.pipeline_status import project_status
from penstock.runtime.commands.query import run_sql
from penstock.spark._jvm import jvm

OWN = """
    @dlt.table(name="main.sales.orders")
    def orders():
        return spark.createDataFrame([(1, "own")], "id INT, whose STRING")

    @dlt.table(name="own_catalog")
    def own_catalog():
        return spark.sql("SELECT main.sales.orders.whose FROM main.sales.orders JOIN LIVE.names USING (id)")

    @dlt.view
    def names():
        return spark.read.table("`Main`.sales.orders").select("id")
"""
WAYS = {
    "read_table": 'return spark.read.table("raw.sales.orders")',
    "table": 'return spark.table("`RAW`.sales.orders")',
    "dlt_read": 'return dlt.read("raw.Sales.Orders")',
    "sql_from": 'return spark.sql("SELECT raw.sales.orders.id FROM raw.sales.orders")',
    "subquery": 'return spark.sql("SELECT 1 AS one WHERE EXISTS (SELECT * FROM raw.sales.orders)")',
    "common": 'return spark.sql("WITH o AS (SELECT * FROM raw.sales.orders) SELECT * FROM o")',
    "joined": (
        'return spark.sql("SELECT raw.sales.orders.id FROM sales.orders JOIN raw.sales.orders '
        'ON sales.orders.id = raw.sales.orders.id")'
    ),
    "hive": 'return spark.table("hive_metastore.sales.orders")',
    "session": 'return spark.table("spark_catalog.sales.orders")',
    "stream": 'return spark.readStream.table("raw.sales.orders")',
    "dlt_stream": 'return dlt.read_stream("raw.sales.orders")',
    "sql_stream": 'return spark.sql("SELECT * FROM STREAM(raw.sales.orders)")',
}


def test_a_full_refresh_by_the_name_of_the_own_catalog_begins_the_counts_again(project: PipelineProject) -> None:
    """No file has been read yet when the log gets the names: the storage knows the catalog that the files declare."""
    project.write("""
    @dlt.table(name="main.sales.orders")
    def orders():
        return spark.readStream.schema("id INT").json("in")
    """)
    project.arrive("a", [{"id": 1}, {"id": 2}])
    for chosen in ((), ("Main.sales.orders",)):
        outcome = project.run(full_refresh=chosen)
        assert outcome.errors == ()
    [created] = [each for each in project.events(outcome) if each.event_type is EventType.CREATE_UPDATE]
    assert created.details["create_update"]["full_refresh"] == ["sales.orders"]
    status = project_status(project.events()).dataset("sales.orders")
    assert status is not None
    assert status.rows == 2


def test_another_catalog_that_is_not_there(project: PipelineProject) -> None:
    code = [OWN, *(f"    @dlt.table\n    def {name}():\n        {read}\n" for name, read in WAYS.items())]
    project.settings["catalog"] = "main"
    project.write("\n".join(code))
    (project.directory / "used.sql").write_text(
        "USE CATALOG raw;\nCREATE MATERIALIZED VIEW main.shop.used AS SELECT * FROM sales.orders"
    )
    found = {}
    for error in project.validate().errors:
        assert error.location is not None, error
        found[str(error.dataset)] = (error.condition, "Did you mean 'sales.orders'?" in error.message)
    assert found == {f"shop.{name}": ("TABLE_OR_VIEW_NOT_FOUND", True) for name in (*WAYS, "used")}


@pytest.fixture
def raw(spark: SparkSession) -> Iterator[str]:
    """A catalog of the session, with a table `sales.orders`."""
    jvm(spark).java.lang.System.setProperty("derby.stream.error.file", "/dev/null")
    url = "jdbc:derby:memory:raw"
    settings = {
        "spark.sql.catalog.raw": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        "spark.sql.catalog.raw.url": f"{url};create=true",
        "spark.sql.catalog.raw.driver": "org.apache.derby.jdbc.EmbeddedDriver",
    }
    for key, value in settings.items():
        spark.conf.set(key, value)
    rows = spark.createDataFrame([(1, "raw")], "ID INT, WHOSE STRING")
    rows.write.option("driver", settings["spark.sql.catalog.raw.driver"]).jdbc(
        settings["spark.sql.catalog.raw.url"], "SALES.ORDERS", mode="overwrite"
    )
    yield "raw"
    for key in settings:
        spark.conf.unset(key)


def test_another_catalog_of_the_session(project: PipelineProject, raw: str) -> None:
    project.settings["catalog"] = "main"
    project.write(
        OWN.replace("sales.orders", "SALES.ORDERS")
        + """
    @dlt.table
    def both():
        return spark.sql(
            "SELECT raw.SALES.ORDERS.WHOSE AS theirs, SALES.ORDERS.whose AS own "
            "FROM raw.SALES.ORDERS JOIN SALES.ORDERS ON raw.SALES.ORDERS.ID = SALES.ORDERS.id"
        )
"""
    )
    (project.directory / "used.sql").write_text(
        "USE CATALOG raw;\nCREATE MATERIALIZED VIEW main.shop.used AS SELECT whose FROM SALES.ORDERS"
    )
    assert project.run().state is UpdateState.COMPLETED
    assert project.rows("both", "theirs", "own") == [("raw", "own")]
    assert project.rows("own_catalog", "whose") == ["own"]
    assert project.rows("used", "whose") == ["raw"]

    def ask(name: str) -> list[tuple[object, ...]]:
        return run_sql(project.config, f"SELECT whose FROM {name}", spark=project.spark)[1]

    assert [ask(name) for name in ("sales.orders", "main.sales.orders", "raw.SALES.ORDERS")] == [
        [("own",)], [("own",)], [("raw",)]
    ]  # fmt: skip
    with pytest.raises(DefinitionError) as raised:
        ask("hive_metastore.sales.orders")
    assert raised.value.condition == "TABLE_OR_VIEW_NOT_FOUND"
    assert "Did you mean 'sales.orders'?" in raised.value.message

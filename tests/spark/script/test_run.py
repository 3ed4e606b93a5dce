"""A plain script under `penstock script`: session, formats, events, errors with its own lines, and its end."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

import pytest
from tests.spark.script.script_project import ScriptProject
from typer.testing import CliRunner

from penstock.cli.main import app as cli
from penstock.events import FlowStatus
from penstock.observe.stored.tables import list_tables

ORDERS = [{"id": 1, "amount": 10}, {"id": 2, "amount": 20}]
COPY = """\
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("copy").config("spark.sql.streaming.schemaInference", "true").getOrCreate()
df = spark.readStream.format("json").load("DIR/in")
query = (df.writeStream
    .format("delta")
    .option("checkpointLocation", "DIR/checkpoints/orders")
    .trigger(availableNow=True)
    .start("DIR/orders"))
query.awaitTermination()
"""


def test_rows_are_written_once_and_counted_in_the_event_log(app: ScriptProject) -> None:
    app.arrive("1", ORDERS)
    assert app.run(COPY).fine().told == []
    app.arrive("2", [{"id": 3, "amount": 30}])
    app.run(COPY).fine()
    assert app.rows("orders", "id", "amount") == [(1, 10), (2, 20), (3, 30)]
    status = app.status("app.orders")
    assert (status.rows, status.status and status.status.value, status.type) == (3, "COMPLETED", "STREAMING_TABLE")


def test_a_query_that_finds_nothing_waits_for_data_until_the_next_batch(app: ScriptProject) -> None:
    def more(app: ScriptProject) -> bool:
        waits = app.status("app.orders").status is FlowStatus.IDLE
        if waits:
            app.arrive("2", [{"id": 3, "amount": 30}])
        return waits and app.has_rows("orders", 3)

    app.arrive("1", ORDERS)
    pause = "spark.sql.streaming.noDataProgressEventInterval"
    code = COPY.replace("availableNow=True", "processingTime='50 milliseconds'")
    code = code.replace("query = ", f"spark.conf.set('{pause}', '100')\nquery = ")
    run = app.run(code.replace("query.await", f"spark.conf.unset('{pause}')\nquery.await"), stop_when=more).fine()
    told = [each.details["flow_progress"]["status"] for each in run.events if "flow_progress" in each.details]
    assert told[1:] == ["RUNNING", "RUNNING", "IDLE", "RUNNING", "IDLE", "STOPPED"]


def test_a_checkpoint_is_what_spark_alone_would_make(app: ScriptProject) -> None:
    app.arrive("1", ORDERS)
    app.run(COPY).fine()
    app.arrive("2", [{"id": 3, "amount": 30}])
    frame = app.spark.readStream.format("json").schema("id LONG, amount LONG").load(f"{app.directory}/in")
    stream = frame.writeStream.format("delta").option("checkpointLocation", f"{app.directory}/checkpoints/orders")
    stream.trigger(availableNow=True).start(f"{app.directory}/orders").awaitTermination()
    assert [row[0] for row in app.rows("orders", "id")] == [1, 2, 3]


def test_spark_is_given_as_in_a_notebook_and_arguments_as_in_python(app: ScriptProject) -> None:
    app.arrive("1", ORDERS)
    run = app.run(
        """\
        import sys
        assert __name__ == "__main__"
        df = spark.readStream.format("json").schema("id LONG").load("DIR/in")
        df.writeStream.format("memory").queryName(sys.argv[1]).trigger(availableNow=True).start().awaitTermination()
        assert spark.sql(f"SELECT sum(id) FROM {sys.argv[1]}").head()[0] == 3
        """,
        "seen",
    )
    assert run.fine().told == []


def test_auto_loader_takes_new_columns_as_on_databricks(app: ScriptProject) -> None:
    code = """\
        df = (spark.readStream.format("cloudFiles").option("cloudFiles.format", "json")
            .option("cloudFiles.schemaLocation", "DIR/schema").load("DIR/in"))
        (df.writeStream.format("delta").option("checkpointLocation", "DIR/checkpoint").option("mergeSchema", "true")
            .trigger(availableNow=True).start("DIR/bronze").awaitTermination())
        """
    app.arrive("1", ORDERS)
    app.run(code).fine()
    app.arrive("2", [{"id": 3, "amount": 30, "colour": "red"}])
    assert app.run(code).error("NEW_COLUMNS_FOUND").facts["what"] == "new columns: colour"
    app.run(code).fine()
    assert app.rows("bronze", "id", "colour") == [("1", None), ("2", None), ("3", "red")]


def test_a_script_may_begin_with_a_spark_context_but_not_make_one(app: ScriptProject) -> None:
    app.arrive("1", ORDERS)
    app.run(
        """\
        from pyspark import SparkConf, SparkContext
        from pyspark.sql import SparkSession
        sc = SparkContext.getOrCreate(SparkConf(loadDefaults=False).set("own.key", "x"))
        spark = SparkSession.builder.getOrCreate()
        assert spark.conf.get("own.key") == "x"
        df = spark.readStream.format("json").schema("id LONG").load("DIR/in")
        df.writeStream.format("noop").trigger(availableNow=True).start().awaitTermination()
        """
    ).fine()
    app.spark.conf.unset("own.key")
    error = app.run("from pyspark import SparkContext\nSparkContext('local')\n").error("SPARK_CONTEXT_OF_SCRIPT")
    assert str(error.location) == "app.py:2"


def test_names_of_tables_live_in_the_storage_and_are_known_to_the_next_run(app: ScriptProject) -> None:
    app.arrive("1", ORDERS)
    code = """\
        df = spark.readStream.format("json").schema("id LONG").load("DIR/in")
        (df.writeStream.format("delta").option("checkpointLocation", "DIR/checkpoint").trigger(availableNow=True)
            .toTable("app_shop.bronze_orders").awaitTermination())
        assert spark.table("app_shop.bronze_orders").count() == 2
        """
    app.run(code).fine()
    app.spark.sql("DROP TABLE app_shop.bronze_orders")  # as another process begins
    app.run(code).fine()
    assert [table.identifier.name for table in list_tables(app.layout().uri)] == ["bronze_orders"]
    app.spark.sql("DROP SCHEMA app_shop CASCADE")


class TestCatalogs:
    WRITE = """\
        df = spark.readStream.format("json").schema("id LONG").load("DIR/in")
        def write(table, rows=df):
            stream = rows.writeStream.format("delta").option("checkpointLocation", f"DIR/checkpoints/{table}")
            stream.trigger(availableNow=True).toTable(table).awaitTermination()
        """

    @pytest.fixture(autouse=True)
    def _forgets_catalogs(self, app: ScriptProject) -> Iterator[None]:
        yield
        self.begin_again(app)

    def begin_again(self, app: ScriptProject) -> None:
        """As another process does."""
        tables = app.directory / ".penstock/scripts/app/tables"
        aside = tables.rename(tables.with_name("aside")) if tables.exists() else None  # DROP SCHEMA deletes its folder
        for schema in app.spark.catalog.listDatabases():
            if schema.name != "default":
                app.spark.sql(f"DROP SCHEMA `{schema.name}` CASCADE")
        for name in ("red", "green", "blue"):
            app.spark.conf.unset(f"spark.sql.catalog.{name}")
            app.spark.conf.unset(f"spark.sql.catalog.{name}.prefix")
        if aside is not None:
            shutil.rmtree(tables, ignore_errors=True)
            aside.rename(tables)

    def test_tables_of_the_same_name_stay_apart(self, app: ScriptProject) -> None:
        app.arrive("1", ORDERS)
        code = (
            self.WRITE
            + """
        from delta.tables import DeltaTable
        from pyspark.sql import functions as F
        write("red.app_shop.orders")
        write("green.app_shop.orders", df.where("id > 1"))
        write("app_shop.again")

        def ids(name):
            return sorted(each.id for each in spark.table(name).collect())

        assert ids("red.app_shop.orders") == ids("app_shop.orders") == ids("app_shop.again") == [1, 2]
        assert ids("green.app_shop.orders") == [2]
        both = spark.sql("SELECT r.id, green.app_shop.orders.id FROM red.app_shop.orders r "
                         "LEFT JOIN green.app_shop.orders ON r.id = green.app_shop.orders.id")
        assert sorted(map(tuple, both.collect()), key=str) == [(1, None), (2, 2)]
        read = spark.readStream.table("green.app_shop.orders").withColumn("seen", F.lit(True))
        write("green.app_shop.copied", read)
        spark.sql("MERGE INTO green.app_shop.copied t USING red.app_shop.orders s ON t.id = s.id "
                  "WHEN NOT MATCHED THEN INSERT (id, seen) VALUES (s.id, false)")
        assert ids("green.app_shop.copied") == [1, 2]
        DeltaTable.forName(spark, "green.app_shop.copied").delete("NOT seen")
        spark.sql("INSERT INTO green.app_shop.copied VALUES (9, true)")
        assert ids("green.app_shop.copied") == [2, 9]
        assert spark.sql("SELECT * FROM green.app_shop.copied VERSION AS OF 1").count() == 1
        spark.sql("OPTIMIZE green.app_shop.copied")
        spark.sql("CREATE OR REPLACE TABLE green.app_shop.made USING delta AS SELECT 1L AS id")
        spark.sql("CREATE OR REPLACE TABLE green.app_shop.made USING delta AS SELECT 2L AS id, 'b' AS b")
        assert ids("green.app_shop.made") == [2]
        spark.sql("CREATE TABLE IF NOT EXISTS green.app_shop.empty (id LONG) USING delta")
        spark.range(1).createOrReplaceTempView("a_view_of_the_session")
        tables = {each.tableName for each in spark.sql("SHOW TABLES IN green.app_shop").collect()}
        assert tables == {"orders", "copied", "made", "empty"}, tables
        assert spark.catalog.tableExists("green.app_shop.orders")
        assert not spark.catalog.tableExists("green.app_shop.again")
        """
        )
        app.run(code).fine()
        tables = app.directory / ".penstock/scripts/app/tables"
        assert {str(each.parent.relative_to(tables)) for each in tables.glob("*/*/_delta_log")} == {
            "app_shop/orders", "app_shop/again",
            "green.app_shop/orders", "green.app_shop/copied", "green.app_shop/made", "green.app_shop/empty",
        }  # fmt: skip
        assert [app.status(name).rows for name in ("app_shop.orders", "green.app_shop.orders")] == [2, 1]

        self.begin_again(app)
        app.arrive("2", [{"id": 3}])
        again = (
            self.WRITE
            + """
        assert spark.table("green.app_shop.orders").count() == 1
        write("green.app_shop.orders", df.where("id > 1"))
        assert spark.table("green.app_shop.orders").count() == 2 == spark.table("red.app_shop.orders").count()
        write("red.app_shop.orders")
        assert spark.table("red.app_shop.orders").count() == 3
        """
        )
        app.run(again).fine()
        shown = CliRunner().invoke(cli, ["show", "green.app_shop.orders", str(app.directory / "app.py"), "--json"])
        assert sorted(each["id"] for each in json.loads(shown.stdout)) == [2, 3]

    def test_the_own_catalog_does_not_change(self, app: ScriptProject) -> None:
        app.arrive("1", ORDERS)
        (app.directory / "penstock.yml").write_text("name: shop\ncatalog: green\n")
        app.run(self.WRITE + 'write("red.app_shop.orders")\n        write("green.app_shop.orders")\n').fine()
        assert app.rows(".penstock/scripts/app/tables/app_shop/orders", "id") == [(1,), (2,)]
        assert app.rows(".penstock/scripts/app/tables/red.app_shop/orders", "id") == [(1,), (2,)]
        self.begin_again(app)
        (app.directory / "penstock.yml").write_text("name: shop\ncatalog: red\n")
        error = app.run(self.WRITE + 'write("app_shop.orders")\n').error("CATALOG_CHANGED")
        assert (error.facts["noted"], error.facts["own"]) == ("green", "red")

    def test_a_catalog_of_the_session_is_sparks_affair(self, app: ScriptProject) -> None:
        app.spark.conf.set("spark.sql.catalog.blue", "no.such.Catalog")
        app.arrive("1", ORDERS)
        failed = app.run(self.WRITE + 'write("blue.app_shop.orders")\n').error("SCRIPT_FAILED")
        assert "no.such.Catalog" in str(failed)


class TestErrors:
    def test_of_spark_name_the_line_of_the_script(self, app: ScriptProject) -> None:
        app.arrive("1", ORDERS)
        error = app.run(
            """\
            df = spark.readStream.format("json").schema("id LONG").load("DIR/in")

            df.select("wrong").writeStream.format("console").start()
            """
        ).error("QUERY_ANALYSIS_FAILED")
        assert str(error.location) == "app.py:3"

    def test_of_a_running_query_name_the_line_that_started_it(self, app: ScriptProject) -> None:
        app.arrive("1", [{"id": "one"}])
        run = app.run(
            """\
            df = spark.readStream.format("json").schema("id STRING").load("DIR/in")
            query = (df.selectExpr("CAST(id AS INT) AS id").writeStream.queryName(queryName="numbers")
                .format("noop").start())
            query.awaitTermination()
            """
        )
        error = run.error("DATA_EXCEPTION")
        assert (str(error.location), error.exit_code) == ("app.py:3", 1)
        assert "Traceback" not in str(error)

    def test_of_a_batch_function_name_its_line(self, app: ScriptProject) -> None:
        app.arrive("1", ORDERS)
        run = app.run(
            """\
            def write(rows, batch_id):
                if batch_id == 0:
                    raise ValueError("no such customer")

            df = spark.readStream.format("json").schema("id LONG").load("DIR/in")
            df.writeStream.foreachBatch(write).option("checkpointLocation", "DIR/c").start().awaitTermination()
            """
        )
        error = run.error("FOREACH_BATCH_FAILED")
        assert (str(error.location), error.facts["detail"]) == ("app.py:3", "no such customer")

    def test_of_python_name_the_line(self, app: ScriptProject) -> None:
        error = app.run("rows = 1\nrows / 0\n").error("SCRIPT_FAILED")
        assert (str(error.location), error.exit_code) == ("app.py:2", 2)

    def test_of_a_pipeline_say_what_it_is(self, app: ScriptProject) -> None:
        assert str(app.run("import dlt\n").error("SCRIPT_IS_PIPELINE").location) == "app.py:1"


class TestTheEnd:
    def test_a_script_without_a_query_is_told_so_where_it_forgot_start(self, app: ScriptProject) -> None:
        app.arrive("1", ORDERS)
        error = app.run(
            """\
            df = spark.readStream.format("json").schema("id LONG").load("DIR/in")
            stream = df.writeStream.format("console")
            """
        ).error("SCRIPT_WITHOUT_QUERY")
        assert str(error.location) == "app.py:2"

    def test_a_script_of_batch_commands_runs(self, app: ScriptProject) -> None:
        run = app.run(
            """\
            spark.range(3).write.format("delta").save("DIR/table")
            spark.sql("OPTIMIZE delta.`DIR/table` ZORDER BY (id)")
            assert spark.read.format("delta").load("DIR/table").count() == 3
            """
        )
        assert run.fine().told == ["SCRIPT_WITHOUT_STREAM"]
        assert run.outcome.state.value == "COMPLETED"

    def test_queries_that_the_script_leaves_running_are_waited_for(self, app: ScriptProject) -> None:
        app.arrive("1", ORDERS)
        run = app.run(
            COPY.replace("query.awaitTermination()\n", "").replace("availableNow=True", "processingTime='1 second'"),
            stop_when=lambda app: app.has_rows("orders", 2),
        )
        assert run.fine().told == ["QUERIES_NOT_AWAITED"]
        assert run.outcome.state.value == "CANCELED"
        assert len(app.rows("orders", "id")) == 2

    def test_stopping_ends_a_script_that_awaits(self, app: ScriptProject) -> None:
        app.arrive("1", ORDERS)
        run = app.run(
            COPY.replace("availableNow=True", "processingTime='1 second'"),
            stop_when=lambda app: app.has_rows("orders", 2),
        )
        assert run.fine().outcome.state.value == "CANCELED"
        assert app.status("app.orders").status.value == "STOPPED"  # type: ignore[union-attr]

    def test_spark_stop_stops_the_queries_and_leaves_the_reports(self, app: ScriptProject) -> None:
        app.arrive("1", ORDERS)
        app.run(COPY + "spark.stop()\n").fine()
        assert app.status("app.orders").rows == 2

"""A plain script under `penstock script`: session, formats, events, errors with its own lines, and its end."""

from __future__ import annotations

from tests.spark.script.script_project import ScriptProject

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


def test_a_script_writes_to_one_catalog_and_to_those_of_its_session(app: ScriptProject) -> None:
    app.arrive("1", ORDERS)
    code = """\
        df = spark.readStream.format("json").schema("id LONG").load("DIR/in")
        def write(table):
            stream = df.writeStream.format("delta").option("checkpointLocation", f"DIR/checkpoints/{table}")
            stream.trigger(availableNow=True).toTable(table).awaitTermination()
        write("bronze.app_shop.orders")
        write("app_shop.again")
        OTHER
        """
    error = app.run(code.replace("OTHER", 'write("silver.app_shop.orders")')).error("SCRIPT_TABLE_IN_ANOTHER_CATALOG")
    assert (error.facts["catalog"], error.facts["own"]) == ("silver", "bronze")
    assert str(error.location) == "app.py:4"
    assert app.spark.table("app_shop.orders").count() == 2, "the rows of another catalog are not among them"
    # A catalog that the session has is Spark's affair, here a class that is missing.
    app.spark.conf.set("spark.sql.catalog.silver", "no.such.Catalog")
    try:
        failed = app.run(code.replace("OTHER", 'write("silver.app_shop.orders")')).error("SCRIPT_FAILED")
        assert "no.such.Catalog" in str(failed)
    finally:
        app.spark.conf.unset("spark.sql.catalog.silver")
        app.spark.sql("DROP SCHEMA app_shop CASCADE")


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

"""The test kit: what a test feeds, how it steps, and what it sees."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock import testing
from penstock.errors import ConfigError, DataError, PenstockError
from penstock.graph.identifier import Identifier
from penstock.spark.streams.held_query import await_listeners

_IMPORTS = "import penstock as ps\nfrom pyspark.sql import functions as F\n\n"

MESSAGES = """
@ps.table
def raw():
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", "nowhere:9092")
    return reader.option("subscribe", "orders").load()

@ps.table
@ps.expect("large", "amount > 5")
@ps.expect_or_quarantine("positive", "amount > 0")
def silver():
    order = F.from_json(F.col("value").cast("string"), "id INT, amount DOUBLE, at TIMESTAMP")
    return spark.readStream.table("raw").select(order.alias("o")).select("o.*")

@ps.table
def hourly():
    return (
        spark.readStream.table("silver")
        .withWatermark("at", "10 minutes")
        .groupBy(F.window("at", "1 hour"))
        .agg(F.sum("amount").alias("amount"))
        .select(F.col("window.start").alias("hour"), "amount")
    )

@ps.materialized_view
def total():
    return spark.read.table("silver").agg(F.sum("amount").alias("amount"))
"""

Written = Callable[[str], Path]


@pytest.fixture
def written(spark: SparkSession, tmp_path: Path) -> Written:
    """Writes a pipeline file; the kit finds the session of these tests."""

    def write(code: str) -> Path:
        (tmp_path / "shop.py").write_text(_IMPORTS + textwrap.dedent(code), encoding="utf-8")
        return tmp_path / "shop.py"

    return write


def _message(number: int, amount: float, at: str) -> dict[str, object]:
    return {"value": {"id": number, "amount": amount, "at": f"2026-01-01T{at}:00Z"}}


def _batches(pipeline: testing.PipelineUnderTest, *tables: str) -> list[int]:
    """How many batches each flow has run; a flow may have had an empty one before the first step."""
    await_listeners(pipeline._spark)
    return [len(pipeline._events.batches(Identifier("default", table))) for table in tables]


@pytest.mark.slow
def test_messages_windows_and_the_watermark(written: Written) -> None:
    with testing.pipeline(written(MESSAGES)) as shop:
        shop.feed("raw", [_message(1, 2.5, "10:05"), _message(2, -2.5, "10:06")])
        shop.step()
        testing.assert_table(shop, "silver", [{"id": 1, "amount": 2.5, "at": "2026-01-01T10:05:00Z"}])
        testing.assert_table(shop, "silver", [{"at": datetime(2026, 1, 1, 10, 5)}])  # noqa: DTZ001 - UTC then
        assert [(row["id"], row["_quarantine_rules"]) for row in shop.quarantine("silver")] == [(2, ["positive"])]
        assert shop.expectations("silver") == {"large": (0, 2), "positive": (1, 1)}
        assert shop.table("hourly") == []
        assert [row["topic"] for row in shop.table("raw")] == ["orders", "orders"]
        assert [row["offset"] for row in shop.table("raw")] == [0, 1]

        before = _batches(shop, "raw", "silver")
        shop.feed("raw", [_message(3, 7.5, "10:59")])
        shop.step()
        assert _batches(shop, "raw", "silver") == [count + 1 for count in before], "one batch a step"
        assert shop.watermark("hourly") == datetime(2026, 1, 1, 10, 49, tzinfo=UTC)

        shop.advance_watermark("hourly", to="2026-01-01T11:00:00")
        testing.assert_table(shop, "hourly", [{"hour": "2026-01-01T10:00:00Z", "amount": 10.0}])
        assert len(shop.table("raw")) == 3, "no row is left behind"
        assert shop.watermark("hourly") == datetime(2026, 1, 1, 11, tzinfo=UTC)
        shop.advance_watermark(to="2026-01-01T09:00:00")  # which is behind
        assert shop.watermark("hourly") == datetime(2026, 1, 1, 11, tzinfo=UTC)

        shop.feed("raw", [_message(4, 100.0, "10:30"), _message(5, 6.0, "11:30")])
        shop.step()
        shop.advance_watermark("hourly", to="2026-01-01T13:00:00Z")
        assert [(row["id"], row["_late_seconds"]) for row in shop.late_rows("hourly")] == [(4, 0.0)]
        assert sorted(row["amount"] for row in shop.table("hourly")) == [6.0, 10.0], "the late one is in no window"
        testing.assert_table(shop, "total", [{"amount": 116.0}])

        shop.restart()
        with pytest.raises(ConfigError, match="TEST_WATERMARK_NOT_STARTED"):
            shop.advance_watermark("hourly", to="2026-01-01T15:00:00Z")
        shop.feed("raw", [_message(6, 1.0, "12:30"), _message(7, 1.0, "14:30")])
        shop.step()
        assert _batches(shop, "raw") == [4], "it goes on where it stopped"
        assert sorted(row["id"] for row in shop.late_rows("hourly")) == [4, 6]
        with pytest.raises(AssertionError, match=r"(?s)missing: amount=1.0.*unexpected: amount=118.0"):
            testing.assert_table(shop, "total", [{"amount": 1.0}])


AUTO_LOADER = """
@ps.table
def bronze():
    reader = spark.readStream.format("cloudFiles").option("cloudFiles.format", "json")
    return reader.option("cloudFiles.schemaHints", "amount DOUBLE").load("/data/that/is/nowhere")

@ps.table
def silver():
    return spark.readStream.table("bronze").where("amount > 0")
"""


def test_fed_rows_are_inferred_rescued_and_widen_the_table_as_files_do(written: Written) -> None:
    with testing.pipeline(written(AUTO_LOADER)) as shop:
        shop.feed("bronze", [{"id": 1, "amount": 2}, "{ broken"])
        shop.step()
        testing.assert_table(shop, "bronze", [{"id": "1", "amount": 2.0}, {"id": None, "amount": None}])
        assert [row["id"] for row in shop.table("bronze") if row["_rescued_data"] is not None] == [None]
        shop.feed("bronze", [{"id": 2, "amount": 3, "colour": "red"}])
        shop.step()
        testing.assert_table(shop, "bronze", [{"id": "1", "colour": None}, {"id": "2", "colour": "red"}, {"id": None}])


@pytest.mark.slow
def test_files_as_auto_loader_reads_them(written: Written) -> None:
    with testing.pipeline(written(AUTO_LOADER)) as shop:
        with pytest.raises(ConfigError, match=r"FED_DATASET_UNKNOWN.*Did you mean 'bronze'"):
            shop.feed("bronce", [])
        with pytest.raises(ConfigError, match="FED_SOURCE_WITHOUT_SCHEMA"):
            shop.step()
        shop.feed("bronze", [{"id": 1, "amount": 2}, "{ broken"])
        shop.step()
        testing.assert_table(shop, "silver", [{"id": "1", "amount": 2.0}])  # without a hint all is text, as in a run
        assert [row["id"] for row in shop.table("bronze") if row["_rescued_data"] is not None] == [None]
        with pytest.raises(ConfigError, match=r"FED_DATASET_IS_NO_SOURCE.*silver"):
            shop.feed("silver", [{"id": "1"}])
        shop.feed("bronze", [{"id": 2, "amount": 3, "colour": "red"}])
        shop.step()
        testing.assert_table(shop, "bronze", [{"id": "1", "colour": None}, {"id": "2", "colour": "red"}, {"id": None}])


TWO_SOURCES = """
def orders(topic):
    columns = "id BIGINT, paid DECIMAL(6, 2), at TIMESTAMP"
    return spark.readStream.schema(columns).json(f"/data/{topic}")

@ps.view
def web():
    return orders("web")

@ps.view
def store():
    return spark.readStream.format("rate").load().selectExpr("value AS id", "CAST(value AS DECIMAL(6, 2)) AS paid",
        "timestamp AS at")

@ps.table(path="elsewhere")
def all_orders():
    return spark.readStream.table("web").union(spark.readStream.table("store"))

ps.create_sink("alerts", "kafka", {"kafka.bootstrap.servers": "nowhere:9092", "topic": "alerts"})

@ps.append_flow(target="alerts")
def alert():
    return spark.readStream.table("all_orders").selectExpr("CAST(id AS STRING) AS value")

@ps.table
@ps.expect_or_fail("cheap", "paid < 100")
def copies():
    return spark.readStream.table("all_orders").join(spark.read.table("products"), "id")
"""


def test_two_sources_are_one_batch_and_rows_are_checked(written: Written) -> None:
    products = [{"id": 1, "name": "lamp"}, {"id": 7, "name": "bed"}]
    path = written(TWO_SOURCES)
    with testing.pipeline(path, tables={"products": products}) as shop:
        shop.feed("web", [{"id": 1, "paid": "9.50", "at": datetime(2026, 1, 1, 10)}])  # noqa: DTZ001 - UTC then
        shop.feed("store", [{"value": 7, "timestamp": "2026-01-01T11:00:00+01:00"}])
        shop.step()
        before = _batches(shop, "all_orders")
        shop.feed("web", [{"id": 2}])
        shop.feed("store", [{"value": 3}])
        shop.step()
        assert _batches(shop, "all_orders") == [count + 1 for count in before]
        assert not (path.parent / "elsewhere").exists()
        assert sorted(row["value"] for row in shop.sink("alerts")) == ["1", "2", "3", "7"]
        with pytest.raises(ConfigError, match=r"TEST_SINK_UNKNOWN.*Did you mean 'alerts'"):
            shop.sink("alert")
        testing.assert_table(
            shop,
            "copies",
            [
                {"id": 1, "paid": 9.5, "at": "2026-01-01T10:00:00Z", "name": "lamp"},
                {"id": 7, "paid": 7, "at": "2026-01-01T10:00:00Z", "name": "bed"},
            ],
        )
        for row, condition in (
            ({"idd": 1}, r"FED_COLUMN_UNKNOWN.*Row 2.*Did you mean 'id'"),
            ({"id": "one"}, r"FED_VALUE_INVALID.*'one' in column 'id' is not of type bigint"),
            ({"paid": "1.234"}, "FED_VALUE_INVALID.*decimal"),
        ):
            with pytest.raises(DataError, match=condition):
                shop.feed("web", [{"id": 1}, row])
        for rows in ["a line"], [7]:
            with pytest.raises(DataError, match="FED_ROW_INVALID"):
                shop.feed("store", rows)  # type: ignore[arg-type]
        shop.feed("web", {"id": 7, "paid": 100})
        with pytest.raises(PenstockError, match="EXPECTATION") as failed:
            shop.step()
        assert "Fix:" in str(failed.value.__notes__)
        assert len(shop.table("copies")) == 2


WINDOWS = """
@ps.view
def seen():
    return spark.readStream.schema("id BIGINT, at TIMESTAMP").json("/data")

@ps.table
@ps.expect_or_quarantine("known", "id IS NOT NULL")
def rows():
    return spark.readStream.table("seen").withColumn("now", F.current_timestamp())

@ps.table
def counts():
    return (
        spark.readStream.table("seen").withWatermark("at", "1 minute").groupBy(F.window("at", "5 minutes")).count()
        .select(F.minute("window.start").alias("start"), "count")
    )

@ps.table
def distinct():
    return spark.readStream.table("seen").withWatermark("at", "1 minute").dropDuplicates(["id", "at"])
"""
_SEEN = [
    {"id": None if minute == 7 else minute, "at": f"2026-01-01T10:{minute:02}:30Z"}
    for minute in [0, 1, 2, 3, 3, 4, 5, 6, 7, 8, 8, 9, 10, 11]
]


def test_splits_and_a_crash_change_nothing(written: Written) -> None:
    path = written(WINDOWS)
    for number, batches in enumerate(testing.batch_splits(_SEEN, 3, seed=2)):
        if number == 1:
            continue  # one by one: as the others, and slower
        with testing.pipeline(path) as shop:
            shop.set_clock("2026-02-01T00:00:00Z")
            for batch in batches:
                shop.feed("seen", [*batch, testing.CRASH] if number == 2 and batch is batches[-1] else batch)
                shop.step()
            testing.assert_table(shop, "rows", [row for row in _SEEN if row["id"] is not None])
            assert [row["at"].minute for row in shop.quarantine("rows")] == [7]
            assert {row["now"] for row in shop.table("rows")} == {datetime(2026, 2, 1, tzinfo=UTC)}
            assert all(batch.batch_duration_ms for batch in shop._events.all_batches()), "measured by the real clock"
            testing.assert_table(shop, "counts", [{"start": 0, "count": 6}, {"start": 5, "count": 6}])
            testing.assert_table(shop, "distinct", {row["at"]: row for row in _SEEN}.values())
            assert shop.late_rows("distinct") == []
            assert all(batch.lateness is None for batch in shop._events.all_batches()), "which takes time"
            if number == 0:
                shop.advance_watermark("counts", to="2026-01-01T10:15:00Z")
                windows = [(0, 6), (5, 6), (10, 2)]
                testing.assert_table(shop, "counts", [{"start": start, "count": count} for start, count in windows])
                for table, columns in (("rows", ("id", "at")), ("counts", ()), ("distinct", ())):
                    testing.assert_parity(shop, table, columns=columns)  # the column `now` has the machine's time
                shop.feed("seen", _SEEN[1])
                shop.step()
                with pytest.raises(AssertionError, match=r"(?s)table 'counts' differs.*count: expected 7, found 6"):
                    testing.assert_parity(shop, "counts", key="start")
                assert [(row["id"], row["_late_seconds"]) for row in shop.late_rows("counts")] == [(1, 600.0)]


RATE = "\ndef raw():\n    return spark.readStream.format('rate').load()\n"


def test_a_mistake_in_the_pipeline_is_told_with_place_and_fix(written: Written) -> None:
    with testing.pipeline(written("@ps.table\n@ps.expect('paid', 'amnt > 0')" + RATE)) as shop:
        shop.feed("raw", {"value": 1})
        with pytest.raises(PenstockError, match="EXPECTATION_NOT_RESOLVED") as refused:
            shop.step()
    assert "at shop.py:" in str(refused.value.__notes__)
    assert "Fix:" in str(refused.value.__notes__)


def test_a_table_that_is_not_there_and_a_watermark_that_is_not_there(written: Written) -> None:
    with testing.pipeline(written("@ps.table" + RATE)) as shop:
        with pytest.raises(ConfigError, match=r"TEST_TABLE_UNKNOWN.*Did you mean 'raw'"):
            shop.table("row")
        with pytest.raises(ConfigError, match="TEST_WATERMARK_MISSING"):
            shop.advance_watermark("raw", to="2026-01-01T00:00:00Z")

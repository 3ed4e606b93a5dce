"""Rows that get into a table of PostgreSQL: each once, as what they are, and the newest of a key."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from pathlib import Path

import pytest
from tests.oracle.tables import read_table
from tests.postgres_server import PostgresServer
from tests.spark.pipeline_project import PipelineProject

from penstock.events import UpdateState
from penstock.plan.selection import RefreshSelection
from penstock.runtime import plan_update
from penstock.testing.crash import forget_newest_commits

_Tables = dict[str, list[tuple[int, ...]]]
_TWO_SINKS = """
    from sinks import orders, sink

    sink("log")
    sink("newest", mode="upsert", keys="id", sequenceBy="at")
    sink("totals", mode="upsert", keys="id", lockTimeout="10", batchsize="500", numPartitions="2")

    @ps.append_flow(target="log", name="to_log")
    def flow():
        return orders()

    @ps.append_flow(target="newest", name="to_newest")
    def flow():
        return orders()

    @ps.update_flow(target="totals", name="to_totals")
    def flow():
        return orders().groupBy("id").agg(F.sum("amount").alias("total"))
"""


def test_each_row_once_and_the_newest_of_a_key(sinks: PipelineProject, postgres: PostgresServer) -> None:
    sinks.write(_TWO_SINKS)
    sinks.arrive(
        "a", [{"id": 1, "amount": 5, "at": 1}, {"id": 1, "amount": 7, "at": 3}, {"id": 2, "amount": 1, "at": 1}]
    )
    first = sinks.run()
    assert first.errors == ()
    assert sinks.written(first) == {"log": 3, "newest": 3, "totals": 2}
    messages = [event.message for event in sinks.events(first) if "accounting" in event.details]
    assert any("log" in each and "adds up: 3 rows evaluated, 3 written" in each for each in messages), messages
    sinks.arrive(
        "b", [{"id": 1, "amount": 6, "at": 2}, {"id": 2, "amount": 8, "at": 9}, {"id": 3, "amount": 4, "at": 0}]
    )
    plan = plan_update(sinks.config, RefreshSelection(), spark=sinks.spark).plan
    told = {str(stage.dataset): stage.explanation for stage in plan.stages}
    assert "exactly once: append into shop.log" in told["shop.log"]
    assert "exactly once: upsert by id, the newest by at into shop.newest" in told["shop.newest"]
    assert sinks.run().errors == ()
    log: list[tuple[int, ...]] = [(1, 5, 1), (1, 6, 2), (1, 7, 3), (2, 1, 1), (2, 8, 9), (3, 4, 0)]
    tables: _Tables = {"log": log, "newest": [(1, 7, 3), (2, 8, 9), (3, 4, 0)], "totals": [(1, 18), (2, 9), (3, 4)]}
    _check(postgres, tables)

    # As after a crash between the commit in the database and the one in the checkpoint.
    for newest in (sinks.directory / ".penstock" / "checkpoints" / "shop").glob("*/*/0/commits/1"):
        newest.unlink()
        newest.with_name(".1.crc").unlink(missing_ok=True)
    sinks.arrive("c", [{"id": 3, "amount": 1, "at": 1}])
    crashed = sinks.run()
    assert crashed.errors == (), "the state of the sums is there"
    ran = {(event.origin.flow_name, event.origin.batch_id) for event in sinks.events(crashed)}
    assert {(f"to_{name}", batch) for name in tables for batch in (1, 2)} <= ran, "their batches did run again"
    log = sorted([*log, (3, 1, 1)])
    tables = {"log": log, "newest": [(1, 7, 3), (2, 8, 9), (3, 1, 1)], "totals": [(1, 18), (2, 9), (3, 5)]}
    _check(postgres, tables)

    again = sinks.run(full_refresh_all=True)
    assert [error.condition for error in again.errors] == ["JDBC_ROWS_WRITTEN_BEFORE"]
    assert str(again.errors[0].dataset) == "shop.log"
    assert again.errors[0].facts["batches"] == "3"
    _check(postgres, {name: tables[name] for name in ("log", "newest")})
    postgres.execute(again.errors[0].facts["statement"])
    assert [error.condition for error in sinks.run().errors] == ["JDBC_LEDGER_BEHIND"], "the old checkpoint is done"
    assert sinks.run(full_refresh=("log",)).state is UpdateState.COMPLETED
    _check(postgres, {name: tables[name] for name in ("log", "totals")})
    ledger = postgres.rows("SELECT flow, target, batch_id FROM shop.penstock_batches ORDER BY flow")
    assert ledger == [(f"shop/shop.{name}/to_{name}", f"shop.{name}", 2) for name in ("log", "newest", "totals")]
    staged = postgres.rows("SELECT tablename FROM pg_tables WHERE tablename LIKE 'penstock_staging%'")
    assert len(staged) == 3, "one a flow, those of earlier starts are gone"


def _check(postgres: PostgresServer, tables: _Tables) -> None:
    assert {name: sorted(postgres.rows(f"SELECT * FROM shop.{name}")) for name in tables} == tables


def test_types(sinks: PipelineProject, postgres: PostgresServer) -> None:
    postgres.execute(
        "CREATE TYPE shop.state AS ENUM ('new', 'paid')",
        """CREATE TABLE shop.typed (number serial, "Id" uuid PRIMARY KEY, state shop.state, more jsonb, name varchar(5),
        price numeric(10,2), at timestamp, seen timestamptz, day date, yes boolean, tags text[], counts bigint[],
        ids uuid[], raw bytea, ratio double precision, address inet, note text DEFAULT 'none')""",
    )
    sinks.write(
        """
        from sinks import orders, sink

        spark.conf.set("spark.sql.session.timeZone", "America/New_York")
        sink("typed", mode="upsert", keys="id")
        sink("made", mode="upsert", keys="id")

        def rows():
            return orders("id STRING, state STRING, more STRING, name STRING, price DOUBLE, at TIMESTAMP, day DATE, "
                          "yes BOOLEAN, tags ARRAY<STRING>, counts ARRAY<INT>, ids ARRAY<STRING>, address STRING, "
                          "ratio FLOAT").selectExpr("*", "at AS seen", "encode(name, 'UTF-8') AS raw")

        @ps.append_flow(target="typed", name="to_typed")
        def flow():
            return rows()

        @ps.append_flow(target="made", name="to_made")
        def flow():
            return rows().selectExpr("*", "CAST(price AS DECIMAL(12,3)) AS exact", "CAST(1 AS TINYINT) AS tiny",
                                     "CAST(at AS TIMESTAMP_NTZ) AS wall", "CAST(NULL AS BIGINT) AS nothing")
        """
    )
    key, other = str(uuid.uuid4()), str(uuid.uuid4())
    full = {
        "id": key,
        "state": "paid",
        "more": '{"a": [1]}',
        "name": "ä'\"\\",
        "price": 1.005e3,
        "yes": True,
        "at": "2026-07-01T12:00:00Z",
        "day": "2026-07-01",
        "tags": ["a", 'b"c', None],
        "counts": [1, None, 3],
        "ids": [other],
        "address": "10.0.0.1",
        "ratio": 0.5,
    }
    sinks.arrive("a", [full, {"id": other}])
    time_zone = str(sinks.spark.conf.get("spark.sql.session.timeZone"))
    try:
        update = sinks.run()
    finally:
        sinks.spark.conf.set("spark.sql.session.timeZone", time_zone)
    assert update.errors == ()
    [typed, empty] = postgres.rows("SELECT * FROM shop.typed ORDER BY yes NULLS LAST")
    noon = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)
    wall = noon.replace(hour=8, tzinfo=None)  # in New York
    assert typed[1:] == (
        *(uuid.UUID(key), "paid", {"a": [1]}, "ä'\"\\", Decimal("1005.00"), wall, noon),
        *(dt.date(2026, 7, 1), True, ["a", 'b"c', None], [1, None, 3], [uuid.UUID(other)], "ä'\"\\".encode(), 0.5),
        *(typed[15], "none"),
    )
    assert str(typed[15]) in {"10.0.0.1", "10.0.0.1/32"}
    assert empty[2:16] == (None,) * 14, "NULL of every type"
    kinds = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'made'"
    made = dict(postgres.rows(kinds))
    assert (made["exact"], made["wall"], made["at"]) == (
        "numeric",
        "timestamp without time zone",
        "timestamp with time zone",
    )
    [row] = postgres.rows(f"SELECT exact, tiny, wall, nothing, counts, at FROM shop.made WHERE id = '{key}'")
    assert row == (Decimal("1005.000"), 1, wall, None, [1, None, 3], noon)
    assert "PRIMARY KEY" in str(
        postgres.rows("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'shop.made'::regclass")
    )


def test_two_flows_into_one_table_and_a_schema_for_the_ledger(sinks: PipelineProject, postgres: PostgresServer) -> None:
    postgres.execute("CREATE SCHEMA IF NOT EXISTS penstock")
    sinks.write(
        """
        from sinks import orders, sink

        sink("both", stagingSchema="penstock")

        for parity in (0, 1):
            @ps.append_flow(target="both", name=f"rest_{parity}")
            def flow(parity=parity):
                return orders("id INT").where(f"id % 2 = {parity}")
        """
    )
    sinks.arrive("a", [{"id": number} for number in range(10)])
    assert sinks.run().errors == ()
    assert postgres.rows("SELECT id FROM shop.both ORDER BY id") == [(number,) for number in range(10)]
    assert postgres.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'shop'") == [("both",)]
    assert len(postgres.rows("SELECT 1 FROM penstock.penstock_batches WHERE target = 'shop.both'")) == 2
    postgres.execute("DROP SCHEMA penstock CASCADE")
    assert not Path("spark-warehouse").exists()


@pytest.mark.slow  # test_several_sinks.py has a flow into several, the test of each row the batch that runs again
def test_batches_of_one_flow_go_to_a_database_and_to_a_table(sinks: PipelineProject, postgres: PostgresServer) -> None:
    sinks.write(
        """
        from sinks import orders, sink

        more = {"driver": "org.postgresql.Driver", "connectionProvider": "basic"}
        sink("log", batchsize="2", numPartitions="1", queryTimeout="60", **more)
        ps.create_sink("archive", "delta", {"path": "archive"})
        ps.create_sink("both", "sinks", {"sinks": "log, archive", "select.log": "id, amount * 2 AS amount"})

        @ps.append_flow(target="both")
        def flow():
            return orders("id INT, amount INT")
        """
    )
    sinks.arrive("a", [{"id": number, "amount": number} for number in range(5)])
    assert sinks.run().errors == ()
    # As after a crash before it was noted who has the batch: both get it again, and know it.
    [commits] = (sinks.directory / ".penstock/checkpoints").rglob("commits")
    forget_newest_commits({str(commits.parent): None})
    (commits.parent / "penstock-sinks.json").unlink()
    sinks.arrive("b", [{"id": 5, "amount": 5}])
    assert sinks.run().errors == ()
    _check(postgres, {"log": [(number, 2 * number) for number in range(6)]})
    archive = read_table(sinks.directory / "archive")
    assert sorted((row["id"], row["amount"]) for row in archive) == [(number, number) for number in range(6)]

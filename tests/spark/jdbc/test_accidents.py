"""Servers that are away or crash, locks, other processes: each row is there once in the end."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from tests.postgres_server import PostgresServer
from tests.spark.pipeline_project import PipelineProject

from penstock.connectors.jdbc import connector

_APPENDS = """
    from sinks import orders, sink

    sink("out", lockTimeout="1")

    @ps.append_flow(target="out")
    def flow():
        return orders("id INT")
"""
_ROWS = "SELECT id FROM shop.out ORDER BY id"


@pytest.fixture
def appends(sinks: PipelineProject) -> PipelineProject:
    """A project that has appended one batch, and has another one to append."""
    sinks.write(_APPENDS)
    sinks.arrive("a", [{"id": 1}, {"id": 2}])
    assert sinks.run().errors == ()
    sinks.arrive("b", [{"id": 3}])
    return sinks


def _once(monkeypatch: pytest.MonkeyPatch, name: str, accident: Any) -> None:
    """Lets `accident(call)` happen instead of the first call of a function of the writer."""
    original = getattr(connector, name)
    left = [accident]

    def happens(*arguments: Any) -> Any:
        def call() -> Any:
            return original(*arguments)

        return left.pop()(call) if left else call()

    monkeypatch.setattr(connector, name, happens)


def _reasons(project: PipelineProject) -> list[str]:
    """Returns the conditions for which the flow was tried again."""
    waits = [event for event in project.events() if event.details.get("flow_progress", {}).get("retry_at")]
    return [event.error["condition"] for event in waits if event.error]


def test_a_server_that_crashes_with_staged_rows(
    appends: PipelineProject, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def accident(stage: Any) -> None:
        stage()
        postgres.crash()  # the staging table is empty now

    _once(monkeypatch, "stage", accident)
    assert appends.run().errors == ()
    assert _reasons(appends) == ["SERVICE_UNREACHABLE"]
    assert postgres.rows(_ROWS) == [(1,), (2,), (3,)]


@pytest.mark.slow  # as one that crashes, which is away for a while too
def test_a_server_that_is_away(appends: PipelineProject, postgres: PostgresServer) -> None:
    postgres.stop()
    try:
        [error] = appends.run().errors
    finally:
        postgres.start()
    assert error.condition == "SERVICE_UNREACHABLE"
    assert str(postgres.port) in error.message
    assert _reasons(appends) == ["SERVICE_UNREACHABLE"] * 2
    assert appends.run().errors == ()
    assert postgres.rows(_ROWS) == [(1,), (2,), (3,)]


def test_a_task_that_runs_twice(
    appends: PipelineProject, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def accident(stage: Any) -> None:
        stage()
        stage()

    _once(monkeypatch, "stage", accident)
    assert appends.run().errors == ()
    assert _reasons(appends) == ["JDBC_WRITE_INTERRUPTED"]
    assert postgres.rows(_ROWS) == [(1,), (2,), (3,)]


def test_a_locked_table(appends: PipelineProject, postgres: PostgresServer) -> None:
    with postgres.connected() as other, other.transaction():
        other.execute("LOCK TABLE shop.out")
        [error] = appends.run().errors
    assert error.condition == "JDBC_TABLE_LOCKED"
    assert error.facts["seconds"] == "1"
    assert appends.run().errors == ()
    assert postgres.rows(_ROWS) == [(1,), (2,), (3,)]


def test_another_process_has_gone_on(
    appends: PipelineProject, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that was thought to be dead commits its batch after this one has looked at the ledger."""

    def accident(stage: Any) -> None:
        stage()
        postgres.execute("INSERT INTO shop.out VALUES (3)", "UPDATE shop.penstock_batches SET batch_id = 1")

    _once(monkeypatch, "stage", accident)
    [error] = appends.run().errors
    assert error.condition == "JDBC_WRITTEN_BY_ANOTHER"
    assert _reasons(appends) == []
    assert postgres.rows(_ROWS) == [(1,), (2,), (3,)]
    assert appends.run().errors == (), "it has the batch"
    assert postgres.rows(_ROWS) == [(1,), (2,), (3,)]


def test_a_process_whose_staging_table_is_gone_writes_nothing(
    appends: PipelineProject, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after the start of another process, which drops it, while this one still writes."""
    [(staging,)] = postgres.rows("SELECT tablename FROM pg_tables WHERE tablename LIKE 'penstock_staging%'")
    gone = threading.Event()

    def accident(stage: Any) -> None:
        stage()
        for (name,) in postgres.rows("SELECT tablename FROM pg_tables WHERE tablename LIKE 'penstock_staging%'"):
            assert name != staging, "each start has its own"
            postgres.execute(f'DROP TABLE shop."{name}"')
            gone.set()

    _once(monkeypatch, "stage", accident)
    [error] = appends.run().errors
    assert gone.is_set()
    assert error.condition == "JDBC_WRITTEN_BY_ANOTHER"
    assert postgres.rows(_ROWS) == [(1,), (2,)]


def test_a_database_that_was_restored_from_an_older_copy(appends: PipelineProject, postgres: PostgresServer) -> None:
    assert appends.run().errors == ()
    postgres.execute("DELETE FROM shop.out WHERE id = 3", "UPDATE shop.penstock_batches SET batch_id = 0")
    appends.arrive("c", [{"id": 4}])
    [error] = appends.run().errors
    assert error.condition == "JDBC_LEDGER_BEHIND"
    assert error.facts["committed"] == "1"
    postgres.execute(error.facts["statement"])
    assert appends.run().errors == ()
    assert postgres.rows(_ROWS) == [(1,), (2,), (4,)], "a person has said so"

"""One PostgreSQL for all tests of jdbc sinks; each uses tables of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.postgres_server import PASSWORD, PostgresServer
from tests.spark.pipeline_project import PipelineProject


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running server."""
    with PostgresServer() as server:
        yield server


@pytest.fixture
def schema(postgres: PostgresServer) -> Iterator[str]:
    """A schema of the test's own."""
    postgres.execute("DROP SCHEMA IF EXISTS shop CASCADE", "CREATE SCHEMA shop")
    yield "shop"
    postgres.execute("DROP SCHEMA shop CASCADE")


@pytest.fixture
def sinks(
    project: PipelineProject, postgres: PostgresServer, schema: str, monkeypatch: pytest.MonkeyPatch
) -> PipelineProject:
    """A project whose pipelines have `sink(name, **options)`, for sinks into the schema `shop`, and `orders()`."""
    monkeypatch.setenv("POSTGRES_PASSWORD", PASSWORD)
    project.settings["secrets"] = '{postgres/password: "${env:POSTGRES_PASSWORD}"}'
    place = {**postgres.options, "password": "${secret:postgres/password}"}
    (project.directory / "in").mkdir()
    (project.directory / "sinks.py").write_text(
        f"""
import penstock as ps

def sink(name, **options):
    ps.create_sink(name, "jdbc", {{**{place!r}, "dbtable": "shop." + name, **options}})

def orders(columns="id INT, amount INT, at INT"):
    from pyspark.sql import SparkSession
    return SparkSession.active().readStream.schema(columns).option("maxFilesPerTrigger", "1").json("in")
"""
    )
    return project

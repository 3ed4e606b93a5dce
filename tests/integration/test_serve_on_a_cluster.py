"""The SQL endpoint on a cluster that gives it no executor, gives one later, and ends its application."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pyhive import hive
from tests.cli_runner import own_process, running
from tests.integration.spark_standalone import SparkStandalone
from tests.integration.sql_endpoint import SqlEndpoint
from tests.processes import wait_until

_SECONDS = 400.0  # the JVMs share the cores of a small machine
_PIPELINE = "import dlt\n\n@dlt.table\ndef rows():\n    return spark.readStream.schema('id LONG').json('in')\n"


def _use(project: Path, master: str) -> None:
    (project / "penstock.yml").write_text(
        f"name: small\nschema: shop\nmaster: {master}\nserve: {{port: 0, query_timeout: 5 minutes}}\n"
        "spark_conf: {spark.executor.memory: 512m, spark.driver.memory: 512m}\n"
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A table with one row, made without a cluster."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/1.json").write_text('{"id": 1}\n')
    (tmp_path / "pipeline.py").write_text(_PIPELINE)
    _use(tmp_path, "local[1]")
    own_process("run", tmp_path).expect(0)
    return tmp_path


@pytest.mark.slow  # what is said, and when an endpoint ends: unit/runtime/test_watched_workspace.py
@pytest.mark.timeout(1200)
def test_the_endpoint_says_that_it_waits_and_ends_with_its_application(project: Path, tmp_path: Path) -> None:
    with SparkStandalone(tmp_path / "cluster", workers=0) as spark:
        _use(project, spark.url)
        with running("serve", project) as command:
            endpoint = SqlEndpoint.started(command, health=False)
            answers: list[Any] = []
            query = threading.Thread(target=lambda: answers.extend(_rows(endpoint.port)), daemon=True)
            query.start()
            started = time.monotonic()
            wait_until(lambda: _waits(endpoint.stderr), timeout=60, what="the waiting to be said")
            assert time.monotonic() - started < 20
            assert not answers
            spark.add_worker()
            query.join(_SECONDS)
            assert answers == [(1,)]
            spark.kill_applications()
            wait_until(lambda: command.process.poll() is not None, timeout=60, what="the end of the endpoint")
    said = "".join(endpoint.stderr)
    assert command.process.returncode == 1
    assert "[CLUSTER_APPLICATION_STOPPED]" in said
    assert "Traceback" not in said


def _waits(stderr: list[str]) -> bool:
    return any("[CLUSTER_NO_EXECUTORS]" in line for line in stderr)


def _rows(port: int) -> list[Any]:
    with hive.connect("127.0.0.1", port, username="ada", database="shop") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM rows")
        found: list[Any] = cursor.fetchall()
        return found

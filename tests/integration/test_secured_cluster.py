"""`security: {cluster: true}` on a real cluster: who has the secret works with it, anybody else is not heard."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli_runner import own_process
from tests.integration.spark_standalone import SparkStandalone
from tests.oracle.tables import read_table, stored

_SECONDS = 400.0  # the JVMs share the cores of a small machine
_SMALL = {
    "spark.executor.memory": "512m",
    "spark.driver.memory": "512m",
}
_PIPELINE = """
import dlt


@dlt.table
def rows():
    return spark.readStream.schema("id LONG").json("in")
"""


@pytest.mark.slow  # which settings it chooses: tests/unit/config/test_profiles.py
@pytest.mark.timeout(900)
def test_only_who_has_the_secret_gets_executors(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/1.json").write_text('{"id": 1}\n')
    (tmp_path / "pipeline.py").write_text(_PIPELINE)
    with SparkStandalone(tmp_path / "cluster", workers=1, secret="the right one") as cluster:
        conf = {**_SMALL, "spark.authenticate.secret": "${env:CLUSTER_SECRET}"}
        settings = {"name": "closed", "master": cluster.url, "cluster_timeout": "20 seconds", "spark_conf": conf}
        (tmp_path / "penstock.yml").write_text(json.dumps({**settings, "security": {"cluster": True}}))
        stranger = own_process("run", tmp_path, "--json", environ={"CLUSTER_SECRET": "a guess"}, timeout=_SECONDS)
        assert stranger.expect(1).conditions == ["CLUSTER_START_TIMEOUT"]
        assert cluster.executors_started() == 0
        friend = own_process("run", tmp_path, environ={"CLUSTER_SECRET": "the right one"}, timeout=_SECONDS).expect(0)
        assert "the right one" not in friend.stdout + friend.stderr
    assert [row["id"] for row in read_table(stored(tmp_path / ".penstock", "default", "rows"))] == [1]

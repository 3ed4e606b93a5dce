"""A canary: the value of a secret that a pipeline uses is in nothing that a run leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.spark.pipeline_project import PipelineProject
from tests.unit.dashboard.conftest import client_of

from penstock.cli.screen.followers import followers_of
from penstock.events import UpdateState
from penstock.plan.selection import RefreshSelection
from penstock.runtime import run_update

CANARY = "canary-4d2c9b-do-not-tell"
PIPELINE = """
KEY = dbutils.secrets.get("shop", "key")

@dlt.table
@dlt.expect_or_quarantine("positive", "id > 0")
def orders():
    return spark.readStream.schema("id LONG").option("password", "${secret:shop/key}").json("in")

ps.create_sink("files", "json", {"path": "out", "password": "${secret:shop/key}"})

@dlt.append_flow(target="files")
def to_files():
    return dlt.read_stream("orders")

@ps.foreach_batch_sink
def refused(batch, number):
    raise ValueError(f"the service does not know the key {KEY}")

@dlt.append_flow(target="refused")
def to_service():
    return dlt.read_stream("orders")

@dlt.table
def broken():
    return spark.range(1).selectExpr(f"raise_error('no access with {KEY}') AS id")
"""


def test_the_value_is_in_no_file_page_or_message(
    project: PipelineProject, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHOP_KEY", CANARY)
    project.settings |= {
        "secrets": "{shop/key: '${env:SHOP_KEY}'}",
        "event_log": "{name: events}",
        "metrics": "{textfile: metrics.prom}",
        "lineage": "{file: lineage.jsonl}",
        "alerts": "{destinations: {all: {command: {run: [tee, -a, alerts.json]}}}}",
    }
    project.write(PIPELINE)
    project.arrive("1", [{"id": 1}, {"id": -1}])
    config = replace(project.config, retries=project.retries)
    outcome = run_update(config, RefreshSelection(), followers=followers_of(config), spark=project.spark)
    assert outcome.state is UpdateState.FAILED
    storage = str(project.directory / ".penstock")
    messages = [event.message for event in project.events(outcome)] + [error.message for error in outcome.errors]
    assert any("does not know the key ***" in message for message in messages)

    files = [path for path in project.directory.rglob("*") if path.is_file()]
    kinds = {path.relative_to(project.directory).parts[0] for path in files}
    assert {".penstock", "metrics.prom", "lineage.jsonl", "alerts.json", "out"} <= kinds
    assert {path.parent.name for path in files} >= {"events", "_delta_log", "offsets"}
    assert [path for path in files if CANARY in path.read_text("latin-1")] == []
    client = client_of(storage)
    for page in (
        "/",
        "/problems",
        "/events?level=all",
        "/events.csv?level=all",
        "/datasets/shop.orders",
        "/checks/findings",
    ):
        assert CANARY not in client.get(page).text
    said = capfd.readouterr()
    assert CANARY not in said.out + said.err

"""Metrics of a log: their values, in a file, for OpenTelemetry, and what the page says of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.processes import wait_until
from tests.recorded.build import recorded_orders
from tests.repo.documents import ROOT, blocks
from tests.unit.alerts.receivers import web_receiver
from tests.unit.metrics.runs import CANARY, Values, asking, batch, secret, served, values_of
from tests.unit.observe.story import Story
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.config import MetricsSettings, Otlp, load_project
from penstock.events import EventLog, FlowStatus, UpdateState
from penstock.metrics.definitions import METRICS, Kind
from penstock.metrics.follower import Metrics
from penstock.metrics.projection import MetricsProjection

T = "s.t"
FLOW = (("dataset", T), ("flow", "t"), ("pipeline", "p"))
PAGE = ROOT / "docs/how-to/metrics.md"
runner = CliRunner()


def shown(story: Story) -> Values:
    from prometheus_client import generate_latest

    from penstock.metrics.exposition import registry_of

    projection = MetricsProjection()
    for event in story.events:
        projection.apply(event)
    return values_of(generate_latest(registry_of(projection)).decode())


def test_batches_add_up_and_a_repeated_one_counts_once() -> None:
    story = Story()
    story.update("u1")
    story.state(UpdateState.RUNNING)
    story.batch(T, 0, 10, failed=2, batch_duration_ms=2000, quarantined_records=1, late_rows=3, backlog_records=70)
    story.batch(T, 1, 5, batch_duration_ms=90_000, phases_ms={"addBatch": 1500}, watermark="1970-01-01T00:01:00Z")
    story.batch(T, 1, 5, batch_duration_ms=100)
    story.status(T, FlowStatus.FAILED)
    found = shown(story)
    for name, value in {
        "batches_total": 2,
        "input_rows_total": 15,
        "output_rows_total": 13,
        "dropped_rows_total": 2,
        "quarantined_rows_total": 1,
        "late_rows_total": 3,
        "failures_total": 1,
        "retries_total": 0,
        "batch_duration_seconds_count": 3,
        "falling_behind": 0,
        "watermark_stalled": 0,
    }.items():
        assert found[f"penstock_flow_{name}"][FLOW] == value, name
    buckets = found["penstock_flow_batch_duration_seconds_bucket"]
    assert buckets[tuple(sorted((*FLOW, ("le", "2.5"))))] == 2
    assert buckets[tuple(sorted((*FLOW, ("le", "+Inf"))))] == 3
    assert found["penstock_flow_batch_duration_seconds_sum"][FLOW] == pytest.approx(92.1)
    check = (("action", "drop"), ("dataset", T), ("expectation", "ok"), ("flow", "t"), ("pipeline", "p"))
    assert found["penstock_expectation_passed_rows_total"][check] == 13
    assert found["penstock_expectation_failed_rows_total"][check] == 2
    failed = found["penstock_flow_status"][tuple(sorted((*FLOW, ("status", "FAILED"))))]
    assert (failed, sum(found["penstock_flow_status"].values())) == (1, 1)
    assert found["penstock_update_state"][(("pipeline", "p"), ("state", "RUNNING"))] == 1


def test_a_new_update_begins_anew() -> None:
    story = Story()
    story.update("u1")
    story.batch(T, 0, 10, state_rows=5, watermark="1970-01-01T00:01:00Z", phases_ms={"addBatch": 1500})
    assert shown(story)["penstock_flow_watermark_timestamp_seconds"][FLOW] == 60
    assert shown(story)["penstock_flow_batch_phase_seconds"][tuple(sorted((*FLOW, ("phase", "addBatch"))))] == 1.5
    story.update("u2")
    story.batch(T, 1, 3)
    found = shown(story)
    assert found["penstock_flow_input_rows_total"][FLOW] == 3
    assert "penstock_flow_state_rows" not in found, "what nobody tells has no value"


def test_names_follow_the_rules_of_prometheus_and_the_page_has_them_all() -> None:
    rows = [
        f"| `{each.name}` | {each.kind.value} | {', '.join(f'`{label}`' for label in each.labels)} | {each.help} |"
        for each in METRICS
    ]
    page = PAGE.read_text(encoding="utf-8")
    assert "\n".join(rows) in page
    for metric in METRICS:
        assert re.fullmatch(r"penstock_[a-z_]+", metric.name)
        assert metric.name.endswith("_total") is (metric.kind is Kind.COUNTER)
        if metric.unit == "s":
            assert metric.name.endswith("_seconds")
        if metric.unit == "By":
            assert metric.name.endswith("_bytes")
    assert len({metric.name for metric in METRICS}) == len({metric.otel_name for metric in METRICS}) == len(METRICS)


def test_the_file_has_the_last_values(log: EventLog, tmp_path: Path) -> None:
    file = tmp_path / "folder" / "orders.prom"
    with log, Metrics(MetricsSettings(textfile=file), log):
        for number in range(3):
            batch(log, number)
    assert list(values_of(file.read_text())["penstock_flow_batches_total"].values()) == [3]
    assert [path.name for path in file.parent.iterdir()] == ["orders.prom"]


def test_a_file_that_cannot_be_written_ends_no_run(log: EventLog, caplog: pytest.LogCaptureFixture) -> None:
    with log, Metrics(MetricsSettings(textfile=Path("/proc/none/orders.prom")), log, textfile_seconds=0.01):
        batch(log)
        time.sleep(0.1)
    assert [record.message for record in caplog.records if "metrics" in record.message] == [
        "the metrics cannot be written to /proc/none/orders.prom: No such file or directory"
    ]


def test_opentelemetry_gets_the_same(log: EventLog) -> None:
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    with web_receiver() as receiver:
        receiver.answer = 200
        settings = MetricsSettings(otlp=Otlp(receiver.url, {"api-key": secret(CANARY)}))
        with log, Metrics(settings, log):
            batch(log)
            time.sleep(0.2)
    (_, headers, body) = receiver.requests[-1]
    assert headers["api-key"] == CANARY
    request = ExportMetricsServiceRequest.FromString(body)
    sent = {each.name: each for each in request.resource_metrics[0].scope_metrics[0].metrics}
    assert set(sent) <= {metric.otel_name for metric in METRICS}
    rows = sent["penstock.flow.input_rows"]
    assert (rows.unit, rows.sum.is_monotonic, rows.sum.data_points[0].as_int or rows.sum.data_points[0].as_double) == (
        "{row}",
        True,
        7,
    )
    labels = {each.key: each.value.string_value for each in rows.sum.data_points[0].attributes}
    assert labels == {"pipeline": "orders", "dataset": "shop.orders", "flow": "orders"}
    assert sent["penstock.flow.batch_duration"].histogram.data_points[0].sum == pytest.approx(0.3)
    assert CANARY.encode() not in body


def test_a_receiver_that_hangs_delays_no_flow(log: EventLog) -> None:
    with web_receiver() as receiver:
        receiver.hold.clear()
        settings = MetricsSettings(otlp=Otlp(receiver.url, interval=0.05))
        with log:
            follower = Metrics(settings, log).__enter__()
            batch(log)
            wait_until(lambda: bool(receiver.requests), timeout=5, what="an export")
            began = time.monotonic()
            for number in range(200):
                batch(log, number)
            assert time.monotonic() - began < 5
            receiver.hold.set()
            follower.__exit__(None, None, None)


def test_values_and_names_of_users_are_escaped(log: EventLog) -> None:
    urls: list[str] = []
    name = 'shop."}\n# HELP x\\'
    with log, served(log, urls):
        batch(log, dataset=name)
        wait_until(lambda: "input_rows_total{" in asking(urls[0])[1], timeout=5, what="the batch")
        (labels,) = values_of(asking(urls[0])[1])["penstock_flow_input_rows_total"]
    assert dict(labels)["dataset"] == name


@pytest.mark.parametrize("block", [b for b in blocks(PAGE) if b.kind == "yaml" and not b.marks], ids=str)
def test_each_pipeline_file_of_the_page_loads(tmp_path: Path, block: Any) -> None:
    (tmp_path / "penstock.yml").write_text(block.text)
    settings = load_project(tmp_path).metrics
    assert settings.declared
    assert settings.textfile is None or settings.textfile.is_absolute()


def queries() -> list[str]:
    rules = yaml.safe_load(runner.invoke(app, ["metrics", "rules"]).stdout)
    dashboard = json.loads(runner.invoke(app, ["metrics", "grafana"]).stdout)
    found = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    found += [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    found += [each["query"] for each in dashboard["templating"]["list"] if each["type"] == "query"]
    return found


@pytest.mark.parametrize("query", queries())
def test_rules_and_panels_ask_for_metrics_and_labels_that_exist(query: str) -> None:
    by_name = {metric.name: metric for metric in METRICS}
    named = re.findall(r"(penstock_\w+)(?:\{([^}]*)\})?", query)
    assert named
    for name, matchers in named:
        metric = by_name[name.removesuffix("_bucket")]
        assert set(re.findall(r"(\w+)=~?\"", matchers)) <= set(metric.labels)
    for labels in re.findall(r"by \(([^)]*)\)", query):
        known = {label for name, _ in named for label in by_name[name.removesuffix("_bucket")].labels} | {"le"}
        assert set(re.split(r",\s*", labels)) <= known


def test_panels_do_not_overlap() -> None:
    dashboard = json.loads(runner.invoke(app, ["metrics", "grafana"]).stdout)
    taken = [
        (x, y)
        for place in (panel["gridPos"] for panel in dashboard["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) == 23


def promtool(*words: object, stdin: str = "") -> str:
    """Returns what it says when it is content; there must be one in CI."""
    if shutil.which("promtool") is None and not os.environ.get("CI"):
        pytest.skip("no promtool: on Debian, 'apt-get install prometheus' installs it")
    done = subprocess.run(["promtool", *map(str, words)], input=stdin, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_promtool_finds_nothing_wrong(tmp_path: Path) -> None:
    recorded_orders(str(tmp_path / ".penstock"))
    (tmp_path / "penstock.yml").write_text("name: orders\n")
    promtool("check", "metrics", stdin=runner.invoke(app, ["metrics", "show", str(tmp_path)]).stdout)


def test_each_alert_fires_and_is_resolved(tmp_path: Path) -> None:
    rules, story = tmp_path / "rules.yml", Path(__file__).parent / "alert_rules_test.yml"
    rules.write_text(runner.invoke(app, ["metrics", "rules"]).stdout)
    shutil.copy(story, tmp_path)
    promtool("check", "rules", rules)
    promtool("test", "rules", tmp_path / story.name)
    alerts = {rule["alert"] for group in yaml.safe_load(rules.read_text())["groups"] for rule in group["rules"]}
    told: dict[str, list[bool]] = {}
    for test in yaml.safe_load(story.read_text())["tests"]:
        for each in test["alert_rule_test"]:
            told.setdefault(each["alertname"], []).append(bool(each["exp_alerts"]))
    assert told.keys() == alerts
    assert [name for name, fires in told.items() if True not in fires[:-1] or fires[-1]] == []


def test_metrics_of_a_log_without_a_run(tmp_path: Path) -> None:
    recorded_orders(str(tmp_path / ".penstock"))
    (tmp_path / "penstock.yml").write_text("name: orders\n")
    found = values_of(runner.invoke(app, ["metrics", "show", str(tmp_path)]).stdout)
    assert found["penstock_update_state"][(("pipeline", "orders"), ("state", "COMPLETED"))] == 1
    assert len(found["penstock_flow_input_rows_total"]) == 4

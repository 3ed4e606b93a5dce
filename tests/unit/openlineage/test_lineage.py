"""OpenLineage events of a log: what they say, that the specification allows it, how they are sent, and who waits."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openlineage.client.serde import Serde
from tests.processes import wait_until
from tests.recorded.build import SECOND_UPDATE, recorded_orders
from tests.repo.documents import ROOT, blocks
from tests.unit.alerts.receivers import WebReceiver, web_receiver
from tests.unit.openlineage.specification import SPEC, violations

from penstock.config import PipelineConfig, load_project
from penstock.errors import ConfigError
from penstock.events import BatchProgress, EventLog, EventType, FlowStatus, UpdateState, builders, read_events
from penstock.graph.elements import DatasetType
from penstock.graph.schema.column_lineage import ColumnLineage, InputColumn, OutputColumn, Transformation
from penstock.openlineage.follower import Lineage
from penstock.openlineage.names import of_location, of_sink, of_source
from penstock.openlineage.run_events import RunEvents

PAGE = ROOT / "docs/how-to/lineage.md"
CANARY = "canary-t0ken"
_AMOUNT = (Transformation.AGGREGATION, Transformation.CONDITIONAL)
BRONZE = ColumnLineage(
    (
        OutputColumn("id", (InputColumn("cloudFiles /data/in", "id", (Transformation.IDENTITY,)),)),
        OutputColumn("amount", (InputColumn("kafka orders", "value", (Transformation.TRANSFORMATION,)),)),
    )
)
GOLD = ColumnLineage(
    (
        OutputColumn("id"),
        OutputColumn("amount", (InputColumn("shop.Bronze", "amount", _AMOUNT),), resolved=False),
        OutputColumn("of_python", resolved=False),
    ),
    (InputColumn("shop.bronze", "id", (Transformation.GROUP_BY,)),),
)


def told(storage: Path, *, interval: float = 60.0) -> list[dict[str, Any]]:
    events = RunEvents("orders", "penstock", interval=interval)
    return [Serde.to_dict(built) for event in read_events(str(storage)) for built in events.apply(event)]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    storage = tmp_path_factory.mktemp("lineage") / "storage"
    recorded_orders(str(storage))
    return told(storage, interval=0)


def test_every_event_is_what_the_specification_allows(recorded: list[dict[str, Any]]) -> None:
    assert len(recorded) > 20
    assert [found for event in recorded for found in violations(event)] == []


def test_the_judge_finds_what_is_wrong(recorded: list[dict[str, Any]]) -> None:
    event = json.loads(json.dumps(next(event for event in recorded if event.get("outputs"))))
    event["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] = "many"
    event["eventType"] = "BEGIN"
    del event["run"]["runId"]
    job_type = event["job"]["facets"]["jobType"]
    job_type["_schemaURL"] = job_type["_schemaURL"].replace("/facets/", "/facets/9-")
    found = "\n".join(violations(event))
    for wrong in ("'many' is not of type", "'BEGIN' is not one of", "'runId' is a required", "9-", "is not in spec"):
        assert wrong in found


def test_the_specification_is_the_one_that_was_reviewed() -> None:
    told = dict(re.findall(r"^\| (\S+) \|.*\| ([0-9a-f]{64}) \|$", (SPEC / "VENDORED.md").read_text(), re.MULTILINE))
    files = SPEC.rglob("*.json")
    assert told == {str(file.relative_to(SPEC)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_each_run_begins_once_and_ends_once_below_its_update(recorded: list[dict[str, Any]]) -> None:
    runs: dict[str, list[dict[str, Any]]] = {}
    for event in recorded:
        runs.setdefault(event["run"]["runId"], []).append(event)
    assert SECOND_UPDATE in runs
    for run, events in runs.items():
        states = [event["eventType"] for event in events]
        assert states[0] == "START"
        assert states[-1] in {"COMPLETE", "FAIL", "ABORT"}
        assert set(states[1:-1]) <= {"RUNNING"}
        assert str(uuid.UUID(run)) == run
        parents = {event["run"]["facets"].get("parent", {}).get("run", {}).get("runId") for event in events}
        assert parents == {None} if events[0]["job"]["name"] == "orders" else parents <= set(runs)


def test_a_failed_flow_says_why(recorded: list[dict[str, Any]]) -> None:
    failed = [event for event in recorded if event["eventType"] == "FAIL" and event["job"]["name"] != "orders"]
    assert [event["job"]["name"] for event in failed] == ["orders.shop.hourly_revenue.hourly_revenue"]
    assert failed[0]["run"]["facets"]["errorMessage"]["message"].startswith("[")


class Run:
    """A run whose events a test writes."""

    def __init__(self, log: EventLog) -> None:
        self.log = log

    def define(self) -> None:
        self.log.append(
            EventType.CREATE_UPDATE, *builders.create_update(pipeline="orders", cause="USER_ACTION", version="1")
        )
        columns = [("id", "bigint", None), ("amount", "double", "in euros")]
        tables: list[tuple[str, DatasetType, str | None, list[str]]] = [
            ("shop.bronze", "STREAMING_TABLE", "/data/bronze", []),
            ("shop.clean", "VIEW", None, ["shop.bronze"]),
            ("shop.gold", "MATERIALIZED_VIEW", "s3a://lake/gold", ["shop.clean"]),
        ]
        for name, kind, path, inputs in tables:
            told_of = f"all of {name}"
            built = builders.dataset_definition(
                name, dataset_type=kind, schema=columns, path=path, inputs=inputs, comment=told_of
            )
            self.log.append(EventType.DATASET_DEFINITION, *built, dataset=name)
        options = {"kafka.bootstrap.servers": "broker:9092,other:9092", "topic": "out", "kafka.sasl.password": CANARY}
        sink = builders.sink_definition("shop.out", sink_format="kafka", options=options)
        self.log.append(EventType.SINK_DEFINITION, *sink, dataset="shop.out")
        sources = [("cloudFiles", "/data/in", "orders"), ("kafka", "orders", None)]
        self.flow("bronze", "append", sources=sources, lineage=BRONZE)
        self.flow("clean", "view", input_datasets=["shop.bronze"])
        self.flow("gold", "materialized_view", input_datasets=["shop.CLEAN", "shop.bronze"], lineage=GOLD)
        self.flow("out", "append", input_datasets=["shop.bronze"])
        self.state(UpdateState.RUNNING)

    def flow(self, name: str, kind: str, **more: Any) -> None:
        built = builders.flow_definition(name, output_dataset=f"shop.{name}", flow_type=kind, **more)
        self.log.append(EventType.FLOW_DEFINITION, *built, dataset=f"shop.{name}", flow=name)

    def state(self, state: UpdateState) -> None:
        self.log.append(EventType.UPDATE_PROGRESS, *builders.update_progress(state, pipeline="orders"))

    def status(self, name: str, status: FlowStatus) -> None:
        built = builders.flow_status(name, status)
        self.log.append(EventType.FLOW_PROGRESS, *built, dataset=f"shop.{name}", flow=name)

    def batch(self, name: str, number: int, rows: int = 5) -> None:
        built = builders.flow_batch(name, BatchProgress(number, rows, rows))
        self.log.append(EventType.FLOW_PROGRESS, *built, dataset=f"shop.{name}", flow=name)


def named(datasets: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(dataset["namespace"], dataset["name"]) for dataset in datasets]


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    return tmp_path / ".penstock"


@pytest.fixture
def run(storage: Path) -> Iterator[Run]:
    with EventLog.open(str(storage), pipeline_name="orders", update_id=str(uuid.uuid4())) as log:
        yield Run(log)


def test_datasets_are_named_by_where_they_are_and_views_stand_for_what_they_read(run: Run, storage: Path) -> None:
    run.define()
    for name in ("bronze", "gold", "out"):
        run.status(name, FlowStatus.STARTING)
    events = {
        event["job"]["name"].rpartition(".")[2]: event for event in told(storage) if event["job"]["name"] != "orders"
    }
    assert [found for event in events.values() for found in violations(event)] == []
    bronze, gold, out = events["bronze"], events["gold"], events["out"]
    assert named(bronze["inputs"]) == [("file", "/data/in"), ("penstock", "kafka orders")]
    assert named(bronze["outputs"]) == named(out["inputs"]) == named(gold["inputs"]) == [("file", "/data/bronze")]
    assert named(gold["outputs"]) == [("s3://lake", "gold")]
    assert named(out["outputs"]) == [("kafka://broker:9092", "out")]
    facets = gold["outputs"][0]["facets"]
    assert [(each["name"], each["type"], each.get("description")) for each in facets["schema"]["fields"]] == [
        ("id", "bigint", None),
        ("amount", "double", "in euros"),
    ]
    assert facets["symlinks"]["identifiers"] == [{"namespace": "penstock", "name": "shop.gold", "type": "TABLE"}]
    assert facets["documentation"]["description"] == "all of shop.gold"
    kinds = [event["job"]["facets"]["jobType"]["processingType"] for event in (bronze, gold)]
    assert kinds == ["STREAMING", "BATCH"]
    assert CANARY not in json.dumps(list(events.values()))


def test_each_column_has_those_that_it_is_made_of(run: Run, storage: Path) -> None:
    run.define()
    for name in ("bronze", "gold", "out"):
        run.status(name, FlowStatus.STARTING)
    events = {event["job"]["name"].rpartition(".")[2]: event for event in told(storage)}

    def made_of(name: str) -> dict[str, list[tuple[str, str, str, list[str]]]]:
        facet = events[name]["outputs"][0]["facets"]["columnLineage"]
        fields = {field: told["inputFields"] for field, told in facet["fields"].items()}
        return {
            field: [
                (one["namespace"], one["name"], one["field"], [f"{way['type']} {way['subtype']}" for way in ways])
                for one in inputs
                for ways in [one["transformations"]]
            ]
            for field, inputs in {**fields, "(dataset)": facet["dataset"]}.items()
        }

    assert [found for event in events.values() for found in violations(event)] == []
    assert made_of("bronze") == {
        "id": [("file", "/data/in", "id", ["DIRECT IDENTITY"])],
        "amount": [("penstock", "kafka orders", "value", ["DIRECT TRANSFORMATION"])],
        "(dataset)": [],
    }
    assert made_of("gold") == {
        "id": [],
        "amount": [("file", "/data/bronze", "amount", ["DIRECT AGGREGATION", "INDIRECT CONDITIONAL"])],
        "(dataset)": [("file", "/data/bronze", "id", ["INDIRECT GROUP_BY"])],
    }
    assert "columnLineage" not in events["out"]["outputs"][0].get("facets", {}), "its flow tells nothing"


def test_what_a_function_writes_has_no_known_columns(run: Run, storage: Path) -> None:
    run.define()
    sink = builders.sink_definition("shop.fn", sink_format="foreach_batch", options={})
    run.log.append(EventType.SINK_DEFINITION, *sink, dataset="shop.fn")
    run.flow("fn", "append", input_datasets=["shop.bronze"], lineage=GOLD)
    run.status("fn", FlowStatus.STARTING)
    assert "columnLineage" not in json.dumps(told(storage))


def test_a_long_stream_tells_now_and_then_and_a_repeated_batch_counts_once(run: Run, storage: Path) -> None:
    run.define()
    for number in (0, 1, 1, 2):
        run.batch("bronze", number)
    run.status("bronze", FlowStatus.STOPPED)
    run.state(UpdateState.CANCELED)

    def rows(interval: float) -> list[tuple[str, int]]:
        return [
            (event["eventType"], event["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"])
            for event in told(storage, interval=interval)
            if event.get("outputs")
        ]

    assert rows(0) == [("START", 0), ("RUNNING", 5), ("RUNNING", 10), ("RUNNING", 15), ("ABORT", 15)]
    assert rows(60) == [("START", 0), ("ABORT", 15)]
    assert [event["eventType"] for event in told(storage)][-1] == "ABORT"


def test_a_flow_whose_end_was_not_told_ends_with_its_update(run: Run, storage: Path) -> None:
    run.define()
    run.status("bronze", FlowStatus.RUNNING)
    run.state(UpdateState.FAILED)
    assert [event["eventType"] for event in told(storage)][-2:] == ["ABORT", "FAIL"]


def test_names_hold_no_credentials() -> None:
    assert of_location("s3a://key:secret@bucket/a/b/") == ("s3://bucket", "a/b")
    assert of_location("abfss://data@account.dfs.core.windows.net/x?sig=1") == (
        "abfss://account.dfs.core.windows.net",
        "x",
    )
    assert of_location("file:///data/in") == of_location("/data/in") == ("file", "/data/in")
    assert of_source({"format": "rate", "description": ""}, "n") == ("n", "rate")
    assert of_sink({"dataset": "shop.x", "options": {"path": "/out"}}, "n") == ("file", "/out")
    assert of_sink({"dataset": "shop.x"}, "n") == ("n", "shop.x")


def config_of(folder: Path, lineage: str) -> PipelineConfig:
    (folder / "penstock.yml").write_text(f"name: orders\nlineage: {lineage}\n")
    return load_project(folder, environ={"TOKEN": CANARY, "URL": f"http://127.0.0.1:1/{CANARY}"})


def problems(storage: Path) -> list[tuple[str, str]]:
    return [
        (str(event.details["hook_progress"]["status"]), event.message)
        for event in read_events(str(storage))
        if event.event_type is EventType.HOOK_PROGRESS
    ]


def test_events_are_appended_to_a_file(run: Run, tmp_path: Path) -> None:
    config = config_of(tmp_path, "{file: out/lineage.jsonl, namespace: shop}")
    for _ in range(2):
        with Lineage(config, run.log):
            run.define()
            run.status("bronze", FlowStatus.STARTING)
            run.status("bronze", FlowStatus.COMPLETED)
            run.state(UpdateState.COMPLETED)
    lines = [json.loads(line) for line in (tmp_path / "out/lineage.jsonl").read_text().splitlines()]
    assert [line["eventType"] for line in lines] == 2 * ["START", "RUNNING", "START", "COMPLETE", "COMPLETE"]
    assert {line["job"]["namespace"] for line in lines} == {"shop"}
    assert [found for line in lines for found in violations(line)] == []
    assert problems(tmp_path / ".penstock") == []


def test_a_file_that_cannot_be_written_is_told_and_ends_no_run(run: Run, tmp_path: Path) -> None:
    with Lineage(config_of(tmp_path, "{file: /proc/none/lineage.jsonl}"), run.log):
        run.define()
    ((_, message),) = problems(tmp_path / ".penstock")
    assert "No such file or directory" in message


@pytest.fixture
def web() -> Iterator[WebReceiver]:
    with web_receiver() as receiver:
        receiver.answer = 201
        yield receiver


def test_a_server_gets_them_with_its_token(run: Run, tmp_path: Path, web: WebReceiver) -> None:
    config = config_of(tmp_path, f"{{url: '{web.url.removesuffix('hook')}', token: '${{env:TOKEN}}'}}")
    with Lineage(config, run.log):
        run.define()
    assert [json.loads(body)["eventType"] for _, _, body in web.requests] == ["START", "RUNNING"]
    path, headers, _ = web.requests[0]
    assert (path, headers["authorization"]) == ("/api/v1/lineage", f"Bearer {CANARY}")
    assert CANARY.encode() not in b"".join(body for _, _, body in web.requests)


def test_a_server_that_refuses_is_told_once(run: Run, tmp_path: Path, web: WebReceiver) -> None:
    web.answer = 422
    config = config_of(tmp_path, f"{{url: '{web.url}', token: '${{env:TOKEN}}'}}")
    with Lineage(config, run.log):
        run.define()
        wait_until(lambda: len(web.requests) == 2, timeout=5, what="both events")
    ((status, message),) = problems(tmp_path / ".penstock")
    assert status == "FAILED"
    assert "it answered 422" in message


def test_a_server_that_is_away_is_told_without_its_secret(run: Run, tmp_path: Path) -> None:
    config = config_of(tmp_path, "{url: '${env:URL}', token: '${env:TOKEN}'}")
    with Lineage(config, run.log):
        run.define()
    assert {status for status, _ in problems(tmp_path / ".penstock")} == {"FAILED"}
    written = "".join(path.read_text() for path in (tmp_path / ".penstock/events").glob("*"))
    assert CANARY not in written


def test_a_server_that_never_answers_delays_nothing(run: Run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connections are taken by the system, and nobody reads
        config = config_of(tmp_path, f"{{url: 'http://127.0.0.1:{silent.getsockname()[1]}'}}")
        began = time.monotonic()
        with Lineage(config, run.log, interval=0, capacity=5, close_seconds=0.5):
            run.define()
            for number in range(100):
                run.batch("bronze", number)
        assert time.monotonic() - began < 8, "one of them alone is waited for 10 s"
    assert {status for status, _ in problems(tmp_path / ".penstock")} == {"DROPPED"}


def test_a_token_that_is_nowhere_is_an_error_before_the_run(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as missing:
        Lineage(config_of(tmp_path, "{url: 'https://x', token: '${env:NONE}'}"), run.log)
    assert missing.value.condition == "SECRET_NOT_FOUND"


@pytest.mark.parametrize("block", [b for b in blocks(PAGE) if b.kind == "yaml"], ids=str)
def test_each_pipeline_file_of_the_page_loads(tmp_path: Path, block: Any) -> None:
    (tmp_path / "penstock.yml").write_text(block.text)
    assert load_project(tmp_path).lineage.declared


def test_the_page_names_what_is_sent(recorded: list[dict[str, Any]]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    facets = {name for event in recorded for name in event["run"].get("facets", {})}
    facets |= {name for event in recorded for name in event["job"].get("facets", {})}
    for event in recorded:
        for dataset in (*event.get("inputs", ()), *event.get("outputs", ())):
            facets |= {*dataset.get("facets", {}), *dataset.get("outputFacets", {})}
    assert [name for name in sorted(facets) if f"`{name}`" not in page] == []

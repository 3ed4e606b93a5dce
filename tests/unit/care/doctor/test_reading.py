"""What the checks read: tables' logs, the settings of a pipeline file, the counters of a JVM, and the event log."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.recorded.tables import recorded_storage

from penstock.care.doctor.settings import SettingsFacts
from penstock.care.doctor.tables import read_table_facts
from penstock.cli.doctor_settings import settings_of
from penstock.config import load_project
from penstock.errors import StateError
from penstock.events import EventLog, EventType, builders, read_events
from penstock.events.cluster import ClusterResources, ClusterState, cluster_resources
from penstock.events.types import BatchProgress, MaintenanceProgress
from penstock.graph.identifier import Identifier
from penstock.observe.flows.history import project_history
from penstock.observe.stored.tables import StoredTable
from penstock.storage.jvm_counters import JvmMemory, jvm_memory

ORDERS = Identifier("shop", "orders")


def test_a_table_says_how_many_of_its_files_are_small(tmp_path: Path) -> None:
    for number in range(4):
        rows = pa.table({"id": [number], "day": ["a" if number < 3 else "b"]})
        properties = {"delta.deletedFileRetentionDuration": "interval 2 days"}
        write_deltalake(tmp_path, rows, mode="append", partition_by=["day"], configuration=properties)
    found = read_table_facts(StoredTable(ORDERS, str(tmp_path)))
    assert (found.error, found.version, found.files) == (None, 3, 4)
    assert found.small_files == 3, "the one of day b has nothing to be put together with"
    assert (found.file_retention, found.log_retention) == (2 * 86_400, 30 * 86_400)
    assert 0 < found.bytes < 10_000
    assert found.reader_features == ()


def test_a_damaged_table_is_an_error_and_no_more(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / f"{0:020}.json").write_text("{")
    found = read_table_facts(StoredTable(ORDERS, str(tmp_path)))
    assert isinstance(found.error, StateError)
    assert found.error.condition == "TABLE_NOT_READABLE"


def test_settings_go_to_another_process_without_their_secrets(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text(
        "name: shop\ntrigger: 10 seconds\nmaster: spark://head:7077\n"
        "alerts: {tables: {'*': {freshness: 5 minutes}}}\nmetrics: {port: 9464}\n"
        "spark_conf:\n  spark.hadoop.fs.s3a.secret.key: hunter2\n  spark.hadoop.fs.s3a.access.key: ${env:S3_KEY}\n"
        "  spark.hadoop.fs.s3a.aws.credentials.provider: com.example.Provider\n"
    )
    found = settings_of(load_project(tmp_path))
    assert "hunter2" not in repr(found)
    assert found.plain_secrets == ("spark.hadoop.fs.s3a.secret.key",)
    assert (found.local, found.cores, found.authenticated) == (False, None, False)
    assert (found.trigger, found.interval, found.continuous) == ("processing_time 10 seconds", 10.0, True)
    assert (found.watched, found.destinations, found.metrics) == (("*",), (), ("http port 9464 at 127.0.0.1",))
    assert SettingsFacts.from_json(found.to_json()) == found


def test_a_placeholder_in_the_pipeline_file_is_a_secret_in_clear_text(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text(
        "name: shop\nspark_conf: {spark.a.password: changeme, spark.b.jaas.config: Krb5LoginModule required;}\n"
        "configuration: {api.token: my-token, no.password: ''}\n"
    )
    assert settings_of(load_project(tmp_path)).plain_secrets == ("api.token", "spark.a.password", "spark.b.jaas.config")


def counters(*values: tuple[str, int], order: str = "<") -> bytes:
    """A file of HotSpot's counters, with one that is no number."""
    entries = b""
    for name, value in (*values, ("java.version", 0)):
        kind, vector = (b"J", 0) if name != "java.version" else (b"B", 8)
        encoded = name.encode() + b"\0"
        encoded += b"\0" * (-len(encoded) % 8)
        start = 24
        length = start + len(encoded) + 8
        header = struct.pack(f"{order}iii", length, start, vector) + kind + bytes(3)
        entries += header + struct.pack(f"{order}i", start + len(encoded)) + bytes(4) + encoded
        entries += struct.pack(f"{order}q", value)
    head = b"\xca\xfe\xc0\xc0" + bytes([order == "<", 2, 0, 1]) + bytes(16)
    return head + struct.pack(f"{order}ii", 32, len(values) + 1) + entries


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_jvm_says_how_full_its_heap_is(tmp_path: Path, order: str) -> None:
    (tmp_path / "hsperfdata_ada").mkdir()
    file = tmp_path / "hsperfdata_ada" / "7"
    file.write_bytes(
        counters(
            ("sun.gc.generation.1.space.0.used", 300),
            ("sun.gc.generation.1.maxCapacity", 400),
            ("sun.gc.collector.0.time", 2000),
            ("sun.gc.collector.1.time", 3000),
            ("sun.os.hrt.frequency", 1000),
            ("sun.os.hrt.ticks", 60_000),
            order=order,
        )
    )
    assert jvm_memory(7, tmp_path) == JvmMemory(300, 400, 5.0, 60.0)
    for damaged in (b"", b"none", file.read_bytes()[:100], counters(("sun.os.hrt.frequency", 0))):
        file.write_bytes(damaged)
        assert jvm_memory(7, tmp_path) is None
    assert jvm_memory(8, tmp_path) is None


def test_the_history_of_the_recorded_log(tmp_path: Path) -> None:
    recorded_storage(str(tmp_path))
    found = project_history(read_events(str(tmp_path)))
    assert [each.name for each in found.flows] == [
        "shop.bronze_orders", "shop.silver_orders", "shop.hourly_revenue", "shop.revenue_report"
    ]  # fmt: skip
    [hourly] = [each for each in found.flows if each.name == "shop.hourly_revenue"]
    assert (len(hourly.batches), hourly.definition.stateful) == (10, ("aggregate",))
    assert hourly.batches[-1].overhead == pytest.approx(0.3, abs=0.01)
    assert hourly.falling_behind is not None
    assert len(found.datasets["shop.silver_orders"].rules) == 4


def test_a_batch_knows_on_how_many_executors_it_ran(tmp_path: Path) -> None:
    with EventLog.open(str(tmp_path), pipeline_name="shop", update_id="u") as log:
        log.append(EventType.CREATE_UPDATE, *builders.create_update(pipeline="shop", cause="USER_ACTION", version="1"))
        definition = builders.flow_definition("orders", output_dataset="shop.orders", flow_type="append")
        log.append(EventType.FLOW_DEFINITION, *definition, dataset="shop.orders", flow="orders")
        for executors, rate in ((1, 100.0), (2, 180.0)):
            resources = ClusterResources(ClusterState.AVAILABLE, executors)
            log.append(EventType.CLUSTER_RESOURCES, *cluster_resources("spark://head:7077", resources))
            progress = BatchProgress(executors, 10, 10, processed_rows_per_second=rate)
            log.append(
                EventType.FLOW_PROGRESS, *builders.flow_batch("orders", progress), dataset="shop.orders", flow="orders"
            )
        log.append(
            EventType.MAINTENANCE_PROGRESS,
            *builders.maintenance("orders", MaintenanceProgress()),
            dataset="shop.orders",
        )
    found = project_history(read_events(str(tmp_path)))
    assert found.flows[0].rates_by_executors() == {1: 100.0, 2: 180.0}
    assert list(found.maintained) == ["shop.orders"]
    assert found.maintained["shop.orders"] <= datetime.now(UTC)

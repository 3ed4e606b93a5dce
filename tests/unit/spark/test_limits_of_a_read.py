"""Which options of a read the event log records: those that bound a batch, and nothing that could be a secret."""

from __future__ import annotations

from datetime import UTC, datetime

from penstock.events import builders
from penstock.events.types import Event, EventType, Level, Origin
from penstock.observe.flows.history import project_history
from penstock.spark.sources.stream_read import StreamRead

BEGIN = datetime(2026, 11, 20, tzinfo=UTC)


def test_only_limits_are_recorded_as_they_were_spelled() -> None:
    options = {
        "subscribe": "orders",
        "maxOffsetsPerTrigger": "1000",
        "MINPARTITIONS": "8",
        "cloudFiles.maxBytesPerTrigger": "10g",
        "kafka.sasl.jaas.config": "password=hunter2",
        "maxFilesPerTrigger": "${secret:files}",
    }
    read = StreamRead("kafka", options)
    assert dict(read.limits) == {
        "maxOffsetsPerTrigger": "1000",
        "MINPARTITIONS": "8",
        "cloudFiles.maxBytesPerTrigger": "10g",
    }


def test_the_log_has_the_limits_of_a_flow_by_source() -> None:
    limits = {"kafka_orders": {"maxOffsetsPerTrigger": "1000"}}
    _, details = builders.flow_definition("t", output_dataset="shop.t", flow_type="append", limits=limits)
    origin = Origin("shop", "u", "shop.t", "t")
    event = Event("e", 1, BEGIN, origin, Level.INFO, EventType.FLOW_DEFINITION, "", details)
    [flow] = project_history([event]).flows
    assert flow.definition.limits == limits


def test_a_log_of_an_earlier_version_has_none() -> None:
    _, details = builders.flow_definition("t", output_dataset="shop.t", flow_type="append")
    event = Event("e", 1, BEGIN, Origin("shop", "u", "shop.t", "t"), Level.INFO, EventType.FLOW_DEFINITION, "", details)
    [flow] = project_history([event]).flows
    assert flow.definition.limits == {}

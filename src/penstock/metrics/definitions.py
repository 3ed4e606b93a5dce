"""Every metric, once: its name, what it counts or measures, and its labels. Names are part of the public interface."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Kind(Enum):
    """How a metric behaves, in the words of Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. `unit` is that of OpenTelemetry (UCUM): `s`, `By`, `{row}`; `1` for what is 0 or 1."""

    name: str
    kind: Kind
    unit: str
    labels: tuple[str, ...]
    help: str

    @property
    def otel_name(self) -> str:
        """The name in OpenTelemetry, where the unit stands beside it."""
        name = self.name.removesuffix("_total").removesuffix("_timestamp_seconds").removesuffix("_seconds")
        head, _, rest = name.removeprefix("penstock_").partition("_")
        return f"penstock.{head}.{rest}"


_PIPELINE: Final = ("pipeline",)
_FLOW: Final = ("pipeline", "dataset", "flow")
_CHECK: Final = ("pipeline", "dataset", "flow", "expectation", "action")
_ROWS: Final = "{row}"

BATCH_SECONDS: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""Upper bounds of the buckets of a batch's duration."""

UPDATE_STATE = Metric(
    "penstock_update_state", Kind.GAUGE, "1", (*_PIPELINE, "state"), "1 for the state of the update, such as RUNNING."
)
UPDATE_START = Metric(
    "penstock_update_start_timestamp_seconds", Kind.GAUGE, "s", _PIPELINE, "When the update began, since 1970."
)
UPDATE_CONTINUOUS = Metric(
    "penstock_update_continuous", Kind.GAUGE, "1", _PIPELINE, "1 when the update goes on until it is stopped."
)
EXECUTORS = Metric(
    "penstock_executors", Kind.GAUGE, "{executor}", _PIPELINE, "Executors on the cluster; of no local master."
)
MASTER_LOST = Metric("penstock_master_lost", Kind.GAUGE, "1", _PIPELINE, "1 when the driver has lost its master.")
STATUS = Metric(
    "penstock_flow_status", Kind.GAUGE, "1", (*_FLOW, "status"), "1 for the status of the flow, such as RUNNING."
)
BATCHES = Metric("penstock_flow_batches_total", Kind.COUNTER, "{batch}", _FLOW, "Batches committed.")
INPUT = Metric("penstock_flow_input_rows_total", Kind.COUNTER, _ROWS, _FLOW, "Rows read.")
OUTPUT = Metric("penstock_flow_output_rows_total", Kind.COUNTER, _ROWS, _FLOW, "Rows handed to the target.")
DROPPED = Metric("penstock_flow_dropped_rows_total", Kind.COUNTER, _ROWS, _FLOW, "Rows that expectations dropped.")
QUARANTINED = Metric(
    "penstock_flow_quarantined_rows_total", Kind.COUNTER, _ROWS, _FLOW, "Rows that expectations quarantined."
)
LATE = Metric(
    "penstock_flow_late_rows_total", Kind.COUNTER, _ROWS, _FLOW, "Rows behind the watermark, as Spark counts."
)
FAILURES = Metric(
    "penstock_flow_failures_total", Kind.COUNTER, "{failure}", _FLOW, "How often the flow failed for good."
)
RETRIES = Metric("penstock_flow_retries_total", Kind.COUNTER, "{retry}", _FLOW, "How often the flow was tried again.")
ACCOUNTS = Metric(
    "penstock_flow_accounts_total",
    Kind.COUNTER,
    "{batch}",
    (*_FLOW, "verdict"),
    "Batches by whether their rows add up: BALANCED, BROKEN, NOT_CHECKABLE.",
)
DURATION = Metric(
    "penstock_flow_batch_duration_seconds",
    Kind.HISTOGRAM,
    "s",
    _FLOW,
    "How long batches took, from planning to commit.",
)
PHASE = Metric(
    "penstock_flow_batch_phase_seconds",
    Kind.GAUGE,
    "s",
    (*_FLOW, "phase"),
    "How long a phase of the newest batch took, by Spark's name of it.",
)
LAST_BATCH = Metric(
    "penstock_flow_last_batch_timestamp_seconds",
    Kind.GAUGE,
    "s",
    _FLOW,
    "When the newest batch was reported, since 1970.",
)
INPUT_RATE = Metric(
    "penstock_flow_input_rows_per_second", Kind.GAUGE, "{row}/s", _FLOW, "How fast rows arrived, at the newest batch."
)
PROCESSED_RATE = Metric(
    "penstock_flow_processed_rows_per_second", Kind.GAUGE, "{row}/s", _FLOW, "How fast the newest batch processed rows."
)
FALLING_BEHIND = Metric(
    "penstock_flow_falling_behind", Kind.GAUGE, "1", _FLOW, "1 when rows arrive faster than they are processed."
)
BACKLOG_ROWS = Metric("penstock_flow_backlog_rows", Kind.GAUGE, _ROWS, _FLOW, "Rows that wait at the sources.")
BACKLOG_FILES = Metric("penstock_flow_backlog_files", Kind.GAUGE, "{file}", _FLOW, "Files that wait at the sources.")
BACKLOG_BYTES = Metric("penstock_flow_backlog_bytes", Kind.GAUGE, "By", _FLOW, "Bytes that wait at the sources.")
STATE_ROWS = Metric("penstock_flow_state_rows", Kind.GAUGE, _ROWS, _FLOW, "Rows in the flow's state stores.")
STATE_BYTES = Metric("penstock_flow_state_bytes", Kind.GAUGE, "By", _FLOW, "Memory of the flow's state stores.")
WATERMARK = Metric(
    "penstock_flow_watermark_timestamp_seconds", Kind.GAUGE, "s", _FLOW, "The flow's watermark, since 1970."
)
WATERMARK_STALLED = Metric(
    "penstock_flow_watermark_stalled", Kind.GAUGE, "1", _FLOW, "1 when the watermark stands still although rows arrive."
)
PASSED = Metric("penstock_expectation_passed_rows_total", Kind.COUNTER, _ROWS, _CHECK, "Rows that met the expectation.")
FAILED = Metric(
    "penstock_expectation_failed_rows_total", Kind.COUNTER, _ROWS, _CHECK, "Rows that broke the expectation."
)

METRICS: Final = (
    UPDATE_STATE, UPDATE_START, UPDATE_CONTINUOUS, EXECUTORS, MASTER_LOST, STATUS, BATCHES, INPUT, OUTPUT, DROPPED,
    QUARANTINED, LATE, FAILURES, RETRIES, ACCOUNTS, DURATION, PHASE, LAST_BATCH, INPUT_RATE, PROCESSED_RATE,
    FALLING_BEHIND, BACKLOG_ROWS, BACKLOG_FILES, BACKLOG_BYTES, STATE_ROWS, STATE_BYTES, WATERMARK, WATERMARK_STALLED,
    PASSED, FAILED,
)  # fmt: skip

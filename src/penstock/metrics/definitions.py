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


def _counter(name: str, unit: str, about: str, labels: tuple[str, ...] = _FLOW) -> Metric:
    return Metric(name, Kind.COUNTER, unit, labels, about)


def _gauge(name: str, unit: str, about: str, labels: tuple[str, ...] = _FLOW) -> Metric:
    return Metric(name, Kind.GAUGE, unit, labels, about)


UPDATE_STATE = _gauge(
    "penstock_update_state", "1", "1 for the state of the update, such as RUNNING.", (*_PIPELINE, "state")
)
UPDATE_START = _gauge("penstock_update_start_timestamp_seconds", "s", "When the update began, since 1970.", _PIPELINE)
UPDATE_CONTINUOUS = _gauge(
    "penstock_update_continuous", "1", "1 when the update continues until it is stopped.", _PIPELINE
)
EXECUTORS = _gauge("penstock_executors", "{executor}", "Executors on the cluster; of no local master.", _PIPELINE)
MASTER_LOST = _gauge("penstock_master_lost", "1", "1 when the driver has lost its master.", _PIPELINE)
STATUS = _gauge("penstock_flow_status", "1", "1 for the status of the flow, such as RUNNING.", (*_FLOW, "status"))
BATCHES = _counter("penstock_flow_batches_total", "{batch}", "Batches committed.")
INPUT = _counter("penstock_flow_input_rows_total", _ROWS, "Rows read.")
OUTPUT = _counter("penstock_flow_output_rows_total", _ROWS, "Rows handed to the target.")
DROPPED = _counter("penstock_flow_dropped_rows_total", _ROWS, "Rows that expectations dropped.")
QUARANTINED = _counter("penstock_flow_quarantined_rows_total", _ROWS, "Rows that expectations quarantined.")
LATE = _counter("penstock_flow_late_rows_total", _ROWS, "Rows behind the watermark, as Spark counts.")
FAILURES = _counter("penstock_flow_failures_total", "{failure}", "How often the flow failed for good.")
RETRIES = _counter("penstock_flow_retries_total", "{retry}", "How often the flow was tried again.")
ACCOUNTS = _counter(
    "penstock_flow_accounts_total",
    "{batch}",
    "Batches by whether their rows add up: BALANCED, BROKEN, NOT_CHECKABLE.",
    (*_FLOW, "verdict"),
)
DURATION = Metric(
    "penstock_flow_batch_duration_seconds",
    Kind.HISTOGRAM,
    "s",
    _FLOW,
    "How long batches took, from planning to commit.",
)
PHASE = _gauge(
    "penstock_flow_batch_phase_seconds",
    "s",
    "How long a phase of the newest batch took, by Spark's name of it.",
    (*_FLOW, "phase"),
)
LAST_BATCH = _gauge(
    "penstock_flow_last_batch_timestamp_seconds", "s", "When the newest batch was reported, since 1970."
)
INPUT_RATE = _gauge("penstock_flow_input_rows_per_second", "{row}/s", "How fast rows arrived, at the newest batch.")
PROCESSED_RATE = _gauge(
    "penstock_flow_processed_rows_per_second", "{row}/s", "How fast the newest batch processed rows."
)
FALLING_BEHIND = _gauge("penstock_flow_falling_behind", "1", "1 when rows arrive faster than they are processed.")
BACKLOG_ROWS = _gauge("penstock_flow_backlog_rows", _ROWS, "Rows that wait at the sources.")
BACKLOG_FILES = _gauge("penstock_flow_backlog_files", "{file}", "Files that wait at the sources.")
BACKLOG_BYTES = _gauge("penstock_flow_backlog_bytes", "By", "Bytes that wait at the sources.")
STATE_ROWS = _gauge("penstock_flow_state_rows", _ROWS, "Rows in the flow's state stores.")
STATE_BYTES = _gauge("penstock_flow_state_bytes", "By", "Memory of the flow's state stores.")
WATERMARK = _gauge("penstock_flow_watermark_timestamp_seconds", "s", "The flow's watermark, since 1970.")
WATERMARK_STALLED = _gauge(
    "penstock_flow_watermark_stalled", "1", "1 when the watermark does not advance although rows arrive."
)
PASSED = _counter("penstock_expectation_passed_rows_total", _ROWS, "Rows that met the expectation.", _CHECK)
FAILED = _counter("penstock_expectation_failed_rows_total", _ROWS, "Rows that broke the expectation.", _CHECK)

METRICS: Final = (
    UPDATE_STATE, UPDATE_START, UPDATE_CONTINUOUS, EXECUTORS, MASTER_LOST, STATUS, BATCHES, INPUT, OUTPUT, DROPPED,
    QUARANTINED, LATE, FAILURES, RETRIES, ACCOUNTS, DURATION, PHASE, LAST_BATCH, INPUT_RATE, PROCESSED_RATE,
    FALLING_BEHIND, BACKLOG_ROWS, BACKLOG_FILES, BACKLOG_BYTES, STATE_ROWS, STATE_BYTES, WATERMARK, WATERMARK_STALLED,
    PASSED, FAILED,
)  # fmt: skip

"""Events: what happened in a pipeline, in the columns and `event_type`s of the DLT event log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, Final

from penstock.events.lateness import Lateness


class Level(Enum):
    """How much attention an event asks for; METRICS events are the per-batch numbers."""

    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"
    METRICS = "METRICS"


class EventType(Enum):
    """The event types of the DLT event log that Penstock writes, and its own.

    Those are `accounting`, `late_rows`, `watermark`, `maintenance_progress`, `table_registration`, `alert`,
    `alert_delivery` and `compaction`; `cluster_resources` has a state of its own.
    """

    CREATE_UPDATE = "create_update"
    USER_ACTION = "user_action"
    UPDATE_PROGRESS = "update_progress"
    DATASET_DEFINITION = "dataset_definition"
    SINK_DEFINITION = "sink_definition"
    FLOW_DEFINITION = "flow_definition"
    PLANNING_INFORMATION = "planning_information"
    CLUSTER_RESOURCES = "cluster_resources"
    FLOW_PROGRESS = "flow_progress"
    ACCOUNTING = "accounting"
    LATE_ROWS = "late_rows"
    WATERMARK = "watermark"
    MAINTENANCE_PROGRESS = "maintenance_progress"
    TABLE_REGISTRATION = "table_registration"
    HOOK_PROGRESS = "hook_progress"
    ALERT = "alert"
    ALERT_DELIVERY = "alert_delivery"
    COMPACTION = "compaction"

    @property
    def of_its_update(self) -> bool:
        """Whether it is a sign of life of the update whose id it has; the others may come without one, or after it."""
        return self not in _BESIDE_UPDATES


_BESIDE_UPDATES: Final = frozenset(
    {
        EventType.USER_ACTION,
        EventType.MAINTENANCE_PROGRESS,
        EventType.TABLE_REGISTRATION,
        EventType.HOOK_PROGRESS,
        EventType.ALERT,
        EventType.ALERT_DELIVERY,
        EventType.COMPACTION,
    }
)


class UpdateState(Enum):
    """The states of one update (one `penstock run`)."""

    WAITING_FOR_RESOURCES = "WAITING_FOR_RESOURCES"
    INITIALIZING = "INITIALIZING"
    SETTING_UP_TABLES = "SETTING_UP_TABLES"
    RUNNING = "RUNNING"
    STOPPING = "STOPPING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"

    @property
    def terminal(self) -> bool:
        """Whether the update is over."""
        return self in {UpdateState.COMPLETED, UpdateState.FAILED, UpdateState.CANCELED}


class FlowStatus(Enum):
    """The states of a flow within an update, as Spark's declarative pipelines name them, and RETRYING.

    A flow that has failed and waits for its next try is RETRYING.
    """

    QUEUED = "QUEUED"
    PLANNING = "PLANNING"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    RETRYING = "RETRYING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    EXCLUDED = "EXCLUDED"
    IDLE = "IDLE"
    STOPPED = "STOPPED"

    @property
    def terminal(self) -> bool:
        """Whether the flow does nothing more in this update."""
        return self in {
            FlowStatus.COMPLETED,
            FlowStatus.FAILED,
            FlowStatus.SKIPPED,
            FlowStatus.EXCLUDED,
            FlowStatus.STOPPED,
        }


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an event comes from. Dataset and flow names are `schema.name`, `flow` as declared."""

    pipeline_name: str
    update_id: str
    dataset_name: str | None = None
    flow_name: str | None = None
    batch_id: int | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the event log.

    `sequence` grows by one within a log, across updates. `details` is a JSON-ready mapping with one
    key, the event type (`{"flow_progress": {...}}`), as published DLT monitoring queries expect; on
    disk it is a JSON string. `error` is `{condition, message, fix, …}` or None.
    """

    id: str
    sequence: int
    timestamp: datetime
    origin: Origin
    level: Level
    event_type: EventType
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)
    error: Mapping[str, Any] | None = None
    maturity_level: str = "STABLE"


@dataclass(frozen=True, slots=True)
class ExpectationCount:
    """How many rows of one batch met, and broke, one expectation."""

    name: str
    dataset: str
    passed_records: int
    failed_records: int
    action: str
    """One of warn, drop, fail, quarantine."""


@dataclass(frozen=True, slots=True)
class CheckpointedBatch:
    """What a flow's checkpoint says about a batch: the query's id, and where each source, by name, was read to.

    `settings` are those of Spark that belong to the checkpoint; they do not change, so that only the first batch of a
    run has them.
    """

    query_id: str
    offsets: Mapping[str, Any]
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OperatorState:
    """What a stateful operator keeps when a batch has ended, in memory `bytes`, and how many rows the batch changed.

    `name` is Spark's (`stateStoreSave`, `dedupe`, `symmetricHashJoin`, …). `growth` is what came to it since the
    batch before, None for the first batch of a run.
    """

    name: str
    rows: int
    bytes: int
    updated_rows: int
    removed_rows: int
    growth: int | None = None


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """What one micro-batch (or one batch refresh) did; the `metrics` of a `flow_progress` event.

    Rates are rows per second, durations milliseconds. `num_output_rows` is what was handed to the
    target, without the rows that were dropped or quarantined; of a flow that applies changes by key,
    `num_upserted_rows` is what it added to the target or changed in it, and `num_deleted_rows` what it
    removed. `backlog_*` is what the source still has, None where not reported; `backlog_partitions` are the records by
    topic and partition. `state_operators` are the parts of `state_rows` and `state_bytes`, in Spark's order.
    `event_time_max` is the newest event time of the batch, of a query with a watermark; `lateness` is None where rows
    are not measured.
    """

    batch_id: int
    num_input_rows: int
    num_output_rows: int
    dropped_records: int = 0
    quarantined_records: int = 0
    input_rows_per_second: float | None = None
    processed_rows_per_second: float | None = None
    batch_duration_ms: int | None = None
    phases_ms: Mapping[str, int] = field(default_factory=dict)
    watermark: str | None = None
    state_rows: int | None = None
    state_bytes: int | None = None
    state_operators: tuple[OperatorState, ...] = ()
    late_rows: int | None = None
    num_upserted_rows: int | None = None
    num_deleted_rows: int | None = None
    backlog_bytes: int | None = None
    backlog_files: int | None = None
    backlog_records: int | None = None
    backlog_ms: int | None = None
    backlog_partitions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    expectations: tuple[ExpectationCount, ...] = ()
    event_time_max: str | None = None
    lateness: Lateness | None = None


@dataclass(frozen=True, slots=True)
class MaintenanceProgress:
    """What was done for a table; `duration_ms` for all of it together.

    OPTIMIZE took `files_removed` out of the newest version, with `bytes_removed`, and put `files_added` in. VACUUM
    deleted `files_deleted` that no version younger than `retention_hours` needs; None when it did not run, which
    `kept_because` explains. `pruned` are the folders of former checkpoints that were removed.
    """

    files_added: int = 0
    files_removed: int = 0
    bytes_removed: int = 0
    files_deleted: int | None = None
    retention_hours: int | None = None
    kept_because: str | None = None
    pruned: tuple[str, ...] = ()
    duration_ms: int = 0

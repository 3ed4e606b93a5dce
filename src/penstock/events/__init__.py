"""Event types, their JSON codec and the append-only event log."""

from penstock.errors.text import clean
from penstock.events.clock import Clock, SystemClock
from penstock.events.cluster import ClusterResources, ClusterState, cluster_resources_of
from penstock.events.codec import LINE_COLUMNS, decode, encode
from penstock.events.flows.accounting import BatchAccounts, Verdict, verdict_of
from penstock.events.flows.late_rows import LateRows, late_rows_of_event, reprocessed_rows_of
from penstock.events.flows.progress import batch_progress_of, flow_status_of
from penstock.events.flows.refresh import RefreshChoice, RefreshMethod
from penstock.events.flows.watermark import WatermarkState, WatermarkStatus, WatermarkWatch, watermark_state_of
from penstock.events.lateness import DELAYS_MS, Lateness
from penstock.events.log.event_log import EventLog, new_update_id
from penstock.events.log.reader import EventReader, read_events, tail_events
from penstock.events.types import (
    BatchProgress,
    CheckpointedBatch,
    Event,
    EventType,
    ExpectationCount,
    FlowStatus,
    Level,
    MaintenanceProgress,
    OperatorState,
    Origin,
    UpdateState,
)

__all__ = [
    "DELAYS_MS",
    "LINE_COLUMNS",
    "BatchAccounts",
    "BatchProgress",
    "CheckpointedBatch",
    "Clock",
    "ClusterResources",
    "ClusterState",
    "Event",
    "EventLog",
    "EventReader",
    "EventType",
    "ExpectationCount",
    "FlowStatus",
    "LateRows",
    "Lateness",
    "Level",
    "MaintenanceProgress",
    "OperatorState",
    "Origin",
    "RefreshChoice",
    "RefreshMethod",
    "SystemClock",
    "UpdateState",
    "Verdict",
    "WatermarkState",
    "WatermarkStatus",
    "WatermarkWatch",
    "batch_progress_of",
    "clean",
    "cluster_resources_of",
    "decode",
    "encode",
    "flow_status_of",
    "late_rows_of_event",
    "new_update_id",
    "read_events",
    "reprocessed_rows_of",
    "tail_events",
    "verdict_of",
    "watermark_state_of",
]

"""Whether, in which batches and against which watermark a streaming flow's query counts how late its rows come."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from penstock.config import TriggerKind
from penstock.errors import PenstockError
from penstock.graph.companions.lateness_counting import LATENESS, LatenessCounting
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.resolved import ResolvedFlow
from penstock.runtime.flows.services import FlowServices
from penstock.runtime.storage_state.stream_notes import noted_definition
from penstock.spark.late.lateness import MeasuredLateness, measure_lateness
from penstock.spark.plans.watermarks import LateRowsUnknown
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.logs import DamagedFile, UnknownVersion
from penstock.storage.checkpoint.plan_file import moved_watermark

_FOLDING = "ConstantFolding"
_EXCLUDED_RULES = "spark.sql.optimizer.excludedRules"
_UNREADABLE = (DamagedFile, UnknownVersion, FileNotFoundError, PenstockError)
_UNPLANNED = (PySparkException, Py4JJavaError)


def with_measured_lateness(
    frame: DataFrame, flow: ResolvedFlow, services: FlowServices, checkpoint: str
) -> tuple[MeasuredLateness | None, str | None]:
    """Returns the flow's query `frame` with counters; or None, and why, where it has a watermark and state.

    Called for each start of the query, before the checkpoint is noted to be run with this definition.
    """
    if flow.stream is None or not (flow.stream.operators and flow.stream.watermarks):
        return None, None
    counting = services.counts_lateness(flow)
    if reason := _not_wanted(flow, services, counting):
        return None, reason
    before = noted_definition(checkpoint)
    try:
        folder = CheckpointFolder.open_without_state(checkpoint)
        same = before is None or before.watermarks == flow.stream.watermarks
        measured = measure_lateness(
            frame,
            each_batch=counting is LatenessCounting.EACH_BATCH,
            next_batch=_next_batch(folder),
            watermark_ms=_watermark_before(folder),
            unknown_up_to_ms=-1 if same else _newest_watermark(folder),
        )
    except LateRowsUnknown as unknown:
        return None, str(unknown)
    except (*_UNREADABLE, *_UNPLANNED):  # a flow is not worse for lateness that cannot be counted
        return None, "its checkpoint or its plan could not be read"
    return measured, None


def _not_wanted(flow: ResolvedFlow, services: FlowServices, counting: LatenessCounting) -> str | None:
    if flow.type is FlowType.COMPLETE:
        return "it writes in complete mode, which keeps every window open: no row of it is late"
    if services.trigger_of(flow).kind is TriggerKind.REAL_TIME:
        return "it runs in real-time mode, which reports no batches"
    if counting is LatenessCounting.NEVER:
        return f"its {LATENESS} is 'false'"
    if _FOLDING in (services.spark.conf.get(_EXCLUDED_RULES, "") or ""):
        return f"{_EXCLUDED_RULES} has {_FOLDING}, which counting in samples takes"
    return None


def _next_batch(folder: CheckpointFolder) -> int:
    if folder.in_flight is not None:
        return folder.in_flight
    return 0 if folder.planned is None else folder.planned + 1


def _watermark_before(folder: CheckpointFolder) -> int:
    """The watermark of the batch before the next one to run; 0 when there is none."""
    planned = folder.numbers("offsets")
    done = [batch for batch in planned if batch != folder.in_flight]
    return folder.planned_batch(done[-1]).watermark_ms if done else 0


def _newest_watermark(folder: CheckpointFolder) -> int:
    moved, planned = moved_watermark(folder.storage), folder.planned
    if moved is not None:
        return moved.watermark_ms
    return -1 if planned is None else folder.planned_batch(planned).watermark_ms

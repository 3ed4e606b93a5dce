"""Whether, and against which watermark, a streaming flow's query counts how late its rows come."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from penstock.errors import PenstockError
from penstock.graph.resolved import ResolvedFlow
from penstock.runtime.services import FlowServices
from penstock.runtime.stream_notes import noted_definition
from penstock.spark.late_filter import LateRowsUnknown
from penstock.spark.lateness import MeasuredLateness, measure_lateness
from penstock.storage.checkpoint import CheckpointFolder, DamagedFile, UnknownVersion, moved_watermark

_FOLDING = "ConstantFolding"
_EXCLUDED_RULES = "spark.sql.optimizer.excludedRules"
_UNKNOWN = (LateRowsUnknown, DamagedFile, UnknownVersion, FileNotFoundError, PenstockError)
_UNPLANNED = (PySparkException, Py4JJavaError)


def with_measured_lateness(
    frame: DataFrame, flow: ResolvedFlow, services: FlowServices, checkpoint: str
) -> MeasuredLateness | None:
    """Returns the flow's query `frame` with counters; None where none are asked for or nothing can be told.

    Called for each start of the query, before the checkpoint is noted to be run with this definition.
    """
    if not services.counts_lateness(flow) or flow.stream is None:
        return None
    if _FOLDING in (services.spark.conf.get(_EXCLUDED_RULES, "") or ""):
        return None
    before = noted_definition(checkpoint)
    try:
        folder = CheckpointFolder.open_without_state(checkpoint)
        first, newest = _watermark_before(folder), _newest_watermark(folder)
        same = before is None or before.watermarks == flow.stream.watermarks
        return measure_lateness(frame, watermark_ms=first, unknown_up_to_ms=-1 if same else newest)
    except (*_UNKNOWN, *_UNPLANNED):  # a flow is not worse for lateness that cannot be counted
        return None


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

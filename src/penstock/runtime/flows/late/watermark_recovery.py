"""A process died beside the batch that moved the watermark: windows that this closes are written all the same.

After the batch, before the one without rows. Spark runs that one when there is nothing else to read, and so does
Penstock (`WatermarkRecovery`): a start that finds rows gives them to the next batch, which closes the windows as well,
and drops as late exactly what it would have dropped without the crash.

Within the batch, when its rows were committed and the checkpoint did not know it yet. The next start has Spark run it
again, the sink leaves it out unread, and the watermark stays where it was. So it is computed (`batch_to_compute`).
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import PenstockError
from penstock.graph.resolved import ResolvedFlow
from penstock.graph.rules.sinks import FILE_FORMATS
from penstock.runtime.flows.services import FlowServices
from penstock.spark.failures.source_loss import holds_newest_batch, lost_planned_files
from penstock.spark.sinks.spark_sinks import SinkWriter
from penstock.spark.streams.writes import DeltaWriter, StreamWriter
from penstock.storage import Storage
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.plan_file import moved_watermark, plan_batch_without_rows

_ENABLED = "spark.sql.streaming.noDataMicroBatches.enabled"
_WAITING = {"Waiting for data to arrive", "Waiting for next trigger"}


@dataclass(frozen=True, slots=True)
class WatermarkRecovery:
    """For one start of a flow whose last run ended between the two batches; nothing is written before it waits."""

    checkpoint: str

    @classmethod
    def of(cls, flow: ResolvedFlow, services: FlowServices, checkpoint: str) -> WatermarkRecovery | None:
        """Returns what is to be done for a flow that is about to start; None for nothing, as nearly always."""
        if not services.drops_late_rows(flow):
            return None
        with services.configured(flow):
            enabled = str(services.spark.conf.get(_ENABLED)).casefold() == "true"
        due = enabled and moved_watermark(Storage(checkpoint)) is not None
        return cls(checkpoint) if due else None

    def waits(self, query: StreamingQuery) -> bool:
        """Whether the query runs, has found nothing to read, and has not begun a batch since it started."""
        return query.status["message"] in _WAITING and moved_watermark(Storage(self.checkpoint)) is not None

    def plan(self) -> int | None:
        """Plans the batch without rows for the next start; None when the query has run another one.

        Called when the query has ended.

        Raises:
            ConfigError: STORAGE_NOT_WRITABLE.
        """
        return plan_batch_without_rows(Storage(self.checkpoint))


def batch_to_compute(flow: ResolvedFlow, services: FlowServices, writer: StreamWriter, checkpoint: str) -> int | None:
    """Returns the unfinished batch that `writer` would leave out, because its target holds it; None for none.

    None also where its files are no longer what they were, or a loss was accepted: the state of the batch was written
    from all rows, and must not be written again from fewer.
    """
    if not services.drops_late_rows(flow) or services.accepted_by(flow) is not None:
        return None
    batch = CheckpointFolder.open_without_state(checkpoint).in_flight
    if batch is None or not _holds(writer, checkpoint, batch) or lost_planned_files(checkpoint):
        return None
    return batch


def _holds(writer: StreamWriter, checkpoint: str, batch: int) -> bool:
    match writer:
        case DeltaWriter(path=path):
            return holds_newest_batch(path, checkpoint)
        case SinkWriter(options=options, table=None):
            path = next((value for key, value in options.items() if key.casefold() == "path"), "")
            if writer.format.casefold() == "delta":
                return holds_newest_batch(path, checkpoint)
            return writer.format.casefold() in FILE_FORMATS and _in_log_of_files(path, batch)
        case _:
            return False


def _in_log_of_files(folder: str, batch: int) -> bool:
    try:
        names = {file.name for file in Storage(folder).list("_spark_metadata")}
    except PenstockError:  # Spark reaches more places than Python does
        return False
    return not names.isdisjoint({str(batch), f"{batch}.compact"})

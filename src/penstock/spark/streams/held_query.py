"""A running query that begins a batch only on request."""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.spark._jvm import jvm
from penstock.spark.plans.inspection import plan_uses_processing_time_timers

_QUEUE_MILLISECONDS = 20_000
_POLL_SECONDS = 0.005
_EXECUTION = "org.apache.spark.sql.execution.streaming.runtime.StreamExecution"


class HeldQuery:
    """Holds a query between its batches, by the lock under which Spark looks for new data.

    The lock belongs to the thread that makes the object, which alone may call the methods. Release it before the query
    is stopped: Spark takes the lock at a query's end.
    """

    def __init__(self, query: StreamingQuery, spark: SparkSession) -> None:
        self.run_id = str(query.runId)
        self._spark = spark
        self._query = query
        self._execution: Any = query._jsq.streamingQuery()
        self._lock: Any = self._execution.awaitProgressLock()
        self._lock.lock()

    @property
    def is_active(self) -> bool:
        """Whether the query has not ended."""
        return bool(self._query.isActive)

    def take_all(self) -> None:
        """Lets the query read all that is there now, and run the batch without rows that may follow.

        Raises:
            PySparkException: the query fails.
        """
        if plan_uses_processing_time_timers(self._execution.analyzedPlan()):
            self._run_an_idle_batch()
        else:
            self._query.processAllAvailable()  # waits on a condition of the lock, which so is free meanwhile

    def _run_an_idle_batch(self) -> None:
        """Lets batches run until one has found nothing to read: for Spark, such a query is never done once it has run.

        That batch also wakes the timers that are due. The one that has begun already may not have seen the newest rows.
        """
        begun = int(self._execution.getLatestExecutionContext().batchId())
        getattr(self._execution, "noNewData_$eq")(False)  # as `processAllAvailable` does
        self._lock.unlock()
        try:
            while self.is_active and not (self._was_idle_after(begun) or self._execution.noNewData()):
                time.sleep(_POLL_SECONDS)
        finally:
            self._lock.lock()
        if (failure := self._query.exception()) is not None:
            raise failure

    def _was_idle_after(self, batch: int) -> bool:
        last = self._query.lastProgress
        return last is not None and last["batchId"] > batch and not last["numInputRows"]

    def has_run(self) -> bool:
        """Whether the query has run a batch since it started."""
        return self._execution.lastExecution() is not None

    def watermark(self) -> int:
        """Returns the watermark, in milliseconds since 1970; 0 when there is none yet."""
        return int(self._execution.watermarkTracker().currentWatermark())

    def move_watermark(self, milliseconds: int) -> None:
        """Moves the watermark forward, never back; the next look for data begins the batch that closes what it passes.

        Call it when `has_run`.
        """
        if milliseconds <= self.watermark():
            return
        last = self._execution.lastExecution()
        done, propagator = last.currentBatchId(), last.watermarkPropagator()
        # Spark has asked already whether the next batch would close anything, and does not take another answer.
        propagator.purge(done + 1)
        propagator.propagate(done, last.executedPlan(), last.offsetSeqMetadata().batchWatermarkMs())
        self._execution.watermarkTracker().setWatermark(milliseconds)

    def set_clock(self, milliseconds: int) -> None:
        """Has the batches to come take this time, in milliseconds since 1970, for now."""
        while self._execution.getLatestExecutionContext().batchId() < 0 and self.is_active:
            time.sleep(_POLL_SECONDS)  # what measures how long batches take keeps the clock that it was made with
        java = jvm(self._spark)
        field = java.java.lang.Class.forName(_EXECUTION).getDeclaredField("triggerClock")
        field.setAccessible(True)
        field.set(self._execution, java.org.apache.spark.util.ManualClock(milliseconds))

    def release(self) -> None:
        """Lets the query go on by itself; does nothing the second time."""
        if self._lock.isHeldByCurrentThread():
            self._lock.unlock()


def await_listeners(spark: SparkSession) -> None:
    """Waits until listeners have heard of everything that has happened so far."""
    java: Any = spark.sparkContext._jsc
    java.sc().listenerBus().waitUntilEmpty(_QUEUE_MILLISECONDS)

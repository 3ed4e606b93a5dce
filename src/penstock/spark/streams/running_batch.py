"""What a streaming query knows of the batch that it is about to run, as columns of the query itself.

A query cannot ask for it. But Spark's optimizer runs for each batch, in the query's own thread and after the batch was
planned, and replaces a call on an object of the driver by its answer. The object asks the query; it is put together of
method handles of the JDK, so that no class has to be compiled or shipped.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.spark import _jvm
from penstock.spark.plans.java_columns import called_by_optimizer

_RUNTIME: Final = "org.apache.spark.sql.execution.streaming.runtime"
_METADATA: Final = "org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadataBase"
_HOLDER: Final = "java.util.concurrent.atomic.AtomicReference"
_SUPPLIER: Final = "java.util.function.LongSupplier"
_EXECUTION: Final = f"{_RUNTIME}.IncrementalExecution"
_BATCH: Final = ((_EXECUTION, "currentBatchId"),)
_WATERMARK: Final = (
    (_EXECUTION, "prevOffsetSeqMetadata", "scala.Option"),
    ("scala.Option", "get", "java.lang.Object", _METADATA),
    (_METADATA, "batchWatermarkMs"),
)
"""The methods to call, one after the other: owner, name, what it returns, what that really is; the last one a long."""


@dataclass(frozen=True, slots=True)
class RunningBatch:
    """Columns that are the same for all rows of a batch.

    `number` is the batch's own, `watermark_ms` the watermark that its late rows are compared with, in milliseconds.
    """

    number: Column
    watermark_ms: Column
    _holder: Any

    @classmethod
    def of(cls, spark: SparkSession, *, first: int, watermark_ms: int) -> RunningBatch:
        """`first` and `watermark_ms` are those of the first batch of a query that is about to start."""
        holder = _jvm.jvm(spark).java.util.concurrent.atomic.AtomicReference()
        number, watermark = (
            called_by_optimizer(spark, _asking(spark, holder, question, known), _SUPPLIER, "getAsLong")
            for question, known in ((_BATCH, first), (_WATERMARK, watermark_ms))
        )
        return cls(number, watermark, holder)

    def follow(self, query: StreamingQuery) -> None:
        """Asks the query from now on."""
        self._holder.set(query._jsq.streamingQuery())


def _asking(spark: SparkSession, holder: Any, question: tuple[tuple[str, ...], ...], known: int) -> Any:
    """Returns a Java `LongSupplier`: what a query in `holder` says, or `known` while it says nothing."""
    java = _jvm.jvm(spark)
    handles, failure = java.java.lang.invoke.MethodHandles, _known(java, "java.lang.Throwable")
    handle = handles.filterReturnValue(handles.constant(_known(java, _HOLDER), holder), _question(java, question))
    first = handles.constant(java.java.lang.Long.TYPE, known)
    first = handles.dropArguments(first, 0, _jvm.array_of(spark, "java.lang.Class", failure))
    safe = handles.catchException(handle, failure, first)
    return java.java.lang.invoke.MethodHandleProxies.asInterfaceInstance(_known(java, _SUPPLIER), safe)


@functools.cache
def _question(java: Any, question: tuple[tuple[str, ...], ...]) -> Any:
    """Returns the method handle from a holder to a number of its query's batch; it throws when there is none."""
    handles, types = java.java.lang.invoke.MethodHandles, java.java.lang.invoke.MethodType
    lookup, held = handles.publicLookup(), _known(java, _HOLDER)
    handle = handles.identity(held)
    query = f"{_RUNTIME}.StreamExecution"
    steps = ((_HOLDER, "get", "java.lang.Object", query), (query, "lastExecution", _EXECUTION), *question)
    for owner, method, *answers in steps:
        answer = _known(java, answers[0]) if answers else java.java.lang.Long.TYPE
        step = lookup.findVirtual(_known(java, owner), method, types.methodType(answer))
        if len(answers) > 1:
            step = step.asType(types.methodType(_known(java, answers[1]), _known(java, owner)))
        handle = handles.filterReturnValue(handle, step)
    return handle


def _known(java: Any, name: str) -> Any:
    return java.java.lang.Class.forName(name)

"""The watermark that late rows of the running batch are compared with, as a column of a streaming query.

A query cannot ask for it. But Spark's optimizer runs for each batch, in the query's own thread and after the batch was
planned, and replaces a call on an object of the driver by its answer. The object asks the query for the watermark of
the batch before; it is put together of method handles of the JDK, so that no class has to be compiled or shipped.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.spark import _jvm

_RUNTIME: Final = "org.apache.spark.sql.execution.streaming.runtime"
_METADATA: Final = "org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadataBase"
_HOLDER: Final = "java.util.concurrent.atomic.AtomicReference"
_SUPPLIER: Final = "java.util.function.LongSupplier"


@dataclass(frozen=True, slots=True)
class LateWatermark:
    """`column` is the watermark in milliseconds, the same for all rows of a batch."""

    column: Column
    _holder: Any

    @classmethod
    def of(cls, spark: SparkSession, first_ms: int) -> LateWatermark:
        """`first_ms` is the watermark for the first batch of a query that is about to start."""
        holder = _jvm.jvm(spark).java.util.concurrent.atomic.AtomicReference()
        supplier = _asking(spark, holder, first_ms)
        return cls(_jvm.called_by_optimizer(spark, supplier, _SUPPLIER, "getAsLong"), holder)

    def follow(self, query: StreamingQuery) -> None:
        """Asks the query from now on."""
        self._holder.set(query._jsq.streamingQuery())


def _asking(spark: SparkSession, holder: Any, first_ms: int) -> Any:
    """Returns a Java `LongSupplier`: what a query in `holder` says, or `first_ms` while it says nothing."""
    java = _jvm.jvm(spark)
    handles, failure = java.java.lang.invoke.MethodHandles, _known(java, "java.lang.Throwable")
    asked = handles.filterReturnValue(handles.constant(_known(java, _HOLDER), holder), _question(java))
    first = handles.constant(java.java.lang.Long.TYPE, first_ms)
    first = handles.dropArguments(first, 0, _jvm.array_of(spark, "java.lang.Class", failure))
    safe = handles.catchException(asked, failure, first)
    return java.java.lang.invoke.MethodHandleProxies.asInterfaceInstance(_known(java, _SUPPLIER), safe)


@functools.cache
def _question(java: Any) -> Any:
    """Returns the method handle from a holder to the watermark of the batch before; it throws when there is none."""
    handles, types = java.java.lang.invoke.MethodHandles, java.java.lang.invoke.MethodType
    lookup, held = handles.publicLookup(), _known(java, _HOLDER)
    asked = handles.identity(held)
    for owner, method, answer, really in (
        (_HOLDER, "get", "java.lang.Object", f"{_RUNTIME}.StreamExecution"),
        (f"{_RUNTIME}.StreamExecution", "lastExecution", f"{_RUNTIME}.IncrementalExecution", None),
        (f"{_RUNTIME}.IncrementalExecution", "prevOffsetSeqMetadata", "scala.Option", None),
        ("scala.Option", "get", "java.lang.Object", _METADATA),
    ):
        step = lookup.findVirtual(_known(java, owner), method, types.methodType(_known(java, answer)))
        if really is not None:
            step = step.asType(types.methodType(_known(java, really), _known(java, owner)))
        asked = handles.filterReturnValue(asked, step)
    watermark = types.methodType(java.java.lang.Long.TYPE)
    return handles.filterReturnValue(asked, lookup.findVirtual(_known(java, _METADATA), "batchWatermarkMs", watermark))


def _known(java: Any, name: str) -> Any:
    return java.java.lang.Class.forName(name)

"""What Spark reports about running queries, handed on to whoever runs them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from penstock.errors import ExternalError, PenstockError, exhaustion
from penstock.spark._jvm import callback_server, java_session, jvm

Progress = dict[str, Any]


class ProgressListener:
    """Routes each micro-batch's progress to the flow whose query it is.

    Spark calls it on its listener thread, in order, a moment after the batch; `await_end` waits until
    everything about one run of a query has been handed on. One instance serves one session. Spark goes on when a
    call fails, or finds nothing to call, and then a batch is in no event: `check` says so.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handlers: dict[str, Callable[[Progress], None]] = {}
        self._idle_handlers: dict[str, Callable[[], None] | None] = {}
        self._idle: set[str] = set()  # queries that have read nothing since their handler was called
        self._names: dict[str, str] = {}  # of queries that run, by the id of the run
        self._ended: dict[str, threading.Event] = {}
        self._java: Any = None
        self._server: threading.Thread | None = None
        self._failure: BaseException | None = None

    def attach(self, spark: SparkSession) -> None:
        """Starts listening to all queries of the session."""
        self._server = callback_server(spark)
        self._java = jvm(spark).org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper(JavaCalls(self))
        java_session(spark).streams().addListener(self._java)

    def check(self) -> None:
        """Called now and then by who needs every batch reported.

        Raises:
            PenstockError: PROGRESS_NOT_RECEIVED, or what a handler raised.
        """
        if (failure := self._failure) is not None:
            if isinstance(failure, PenstockError):
                raise failure
            raise exhaustion(failure) or ExternalError("PROGRESS_NOT_RECEIVED", detail=repr(failure)) from failure
        if self._server is not None and not self._server.is_alive():
            raise ExternalError("PROGRESS_NOT_RECEIVED", detail="the server that Spark reports to has ended")

    @contextmanager
    def keeping_failure(self) -> Iterator[None]:
        """Around each call of Spark's, which would only log what it raises."""
        try:
            yield
        except BaseException as failure:
            self._failure = self._failure or failure
            raise

    def detach(self, spark: SparkSession) -> None:
        """Stops listening; a JVM that has ended is no error here, because its flows already said so."""
        with suppress(Py4JError, OSError):
            java_session(spark).streams().removeListener(self._java)

    def handle(
        self, query_name: str, handler: Callable[[Progress], None], *, idle: Callable[[], None] | None = None
    ) -> None:
        """Calls `handler` with the progress (Spark's JSON document) of each batch of the query of that name.

        `idle` is called once when it has found nothing to read for ten seconds, and again after another batch.
        """
        with self._lock:
            self._handlers[query_name] = handler
            self._idle_handlers[query_name] = idle
            self._idle.discard(query_name)

    def await_end(self, run_id: str, timeout: float) -> bool:
        """Waits until Spark has said that the run ended, after its last progress."""
        return self._end_of(run_id).wait(timeout)

    def started(self, run_id: str, name: str) -> None:
        """A run of a query has begun; later events of it have no name."""
        with self._lock:
            self._names[run_id] = name

    def progressed(self, progress: Progress) -> None:
        """A query has checked for data, and maybe run a batch."""
        if "addBatch" not in (progress.get("durationMs") or {}):
            return  # it checked, and there was no batch
        name = progress.get("name") or ""
        with self._lock:
            self._idle.discard(name)
            handler = self._handlers.get(name)
        if handler is not None:
            handler(progress)

    def idled(self, run_id: str) -> None:
        """A query has had nothing to do."""
        with self._lock:
            name = self._names.get(run_id, "")
            handler = None if name in self._idle else self._idle_handlers.get(name)
            self._idle.add(name)
        if handler is not None:
            handler()

    def ended(self, run_id: str) -> None:
        """A run of a query has ended."""
        with self._lock:
            self._names.pop(run_id, None)
        self._end_of(run_id).set()

    def _end_of(self, run_id: str) -> threading.Event:
        with self._lock:
            return self._ended.setdefault(run_id, threading.Event())


class JavaCalls:
    """What the JVM calls. PySpark's own listener calls the JVM for each number of a batch; this one once, for all."""

    def __init__(self, listener: ProgressListener) -> None:
        self._listener = listener

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Called by Spark before the first batch."""
        with self._listener.keeping_failure():
            self._listener.started(event.runId().toString(), event.name() or "")

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Called by Spark after each micro-batch."""
        with self._listener.keeping_failure():
            self._listener.progressed(json.loads(event.progress().json()))

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Called by Spark when a query has had nothing to do."""
        with self._listener.keeping_failure():
            self._listener.idled(event.runId().toString())

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Called by Spark when a run of a query ended."""
        with self._listener.keeping_failure():
            self._listener.ended(event.runId().toString())

    class Java:
        """What py4j presents this as to the JVM."""

        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)

"""Who answers the user's reads: the handler of a thread, or of the whole process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ParamSpec, Protocol, TypeVar

from pyspark.sql import DataFrame, SparkSession

from penstock.spark.sources.option import Secret
from penstock.spark.sources.stream_read import Load, StreamRead

P = ParamSpec("P")
T = TypeVar("T")


class ReadHandler(Protocol):
    """What the hooks ask while a pipeline file or a dataset function runs.

    The hooks call its methods `unhooked`, so that each of them can read with PySpark itself.
    """

    def table(
        self,
        spark: SparkSession,
        name: str,
        *,
        streaming: bool,
        options: Mapping[str, str],
        source_name: str | None = None,
    ) -> DataFrame | None:
        """Called for each read of a table by name; None leaves the name to Spark's catalog.

        `source_name` is the name that the author gives the source of a streaming read.
        """

    def stream(self, spark: SparkSession, read: StreamRead, load: Load) -> DataFrame:
        """Called for each other streaming read; `load` is Spark's own."""

    def batch(self, spark: SparkSession, read: StreamRead) -> DataFrame | None:
        """Called for each batch read by `load`; None leaves it to Spark."""

    def path(self, path: str, *, batch: bool) -> str:
        """Called for each path that is read or written; returns where it really is. `batch`: a batch reads it."""

    def statement(self, spark: SparkSession, statement: str, execute: Callable[[str], DataFrame]) -> DataFrame:
        """Called for each SQL statement; `execute(text)` is Spark's own run of a statement."""

    def action(self, method: str) -> None:
        """Called before a method that would run a job or start a query; raises to refuse it."""

    @property
    def secret(self) -> Secret:
        """Gives the value of a secret by its name."""


_handler: ContextVar[ReadHandler | None] = ContextVar("penstock_read_handler")
_everywhere: ReadHandler | None = None


@contextmanager
def handling_reads(handler: ReadHandler | None) -> Iterator[None]:
    """Makes `handler` answer the reads of this thread's context; None leaves them to PySpark."""
    token = _handler.set(handler)
    try:
        yield
    finally:
        _handler.reset(token)


@contextmanager
def handling_reads_everywhere(handler: ReadHandler) -> Iterator[None]:
    """Makes `handler` answer the reads of every thread that has no handler of its own."""
    global _everywhere  # noqa: PLW0603 - a script's own threads share nothing else with the one that entered this
    before, _everywhere = _everywhere, handler
    try:
        yield
    finally:
        _everywhere = before


def unhooked(method: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Calls what answers a read: whatever that does with PySpark is not hooked."""
    with handling_reads(None):
        return method(*arguments, **named)


def current_handler() -> ReadHandler | None:
    """Returns who answers the reads of this thread: its own handler, else the one of the whole process."""
    return _handler.get(_everywhere)


def own_handler() -> ReadHandler | None:
    """Returns the handler of this thread's context alone."""
    return _handler.get(None)

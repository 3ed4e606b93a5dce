"""The seam of sinks: what a connector is asked for when a flow writes to its format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, Protocol, runtime_checkable

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import PenstockError
from penstock.graph.elements import FormatSink
from penstock.spark.sources.option import Option
from penstock.spark.streams.writes import StreamWriter


class Promise(Enum):
    """What becomes of a row when a process dies and the batch runs again; its value is how a plan says it."""

    EXACTLY_ONCE = "exactly once"
    AT_LEAST_ONCE = "at least once: after a crash, rows of a batch may be there twice"


@dataclass(frozen=True, slots=True)
class SinkBatch:
    """A batch that is written: its `number` counts from 0 within a `query`.

    The query's id lives and dies with the checkpoint, so that both together name the batch for ever. The same batch
    comes again after a crash, with the same rows: a ledger that is written in the rows' own transaction knows it.
    """

    query: str
    number: int

    def skip(self, rows: DataFrame) -> None:
        """Computes the rows of a batch that the sink has already, and writes none.

        A query that keeps state, or a watermark, goes on only with what was computed.
        """
        rows.write.format("noop").mode("overwrite").save()


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkTarget:
    """Where one flow writes to, for one start of its query.

    `options` are checked and have their defaults, under the names that the connector gives them, with secrets filled
    in and `path` where it really is: never show or log them. `rows` is the query; its rows are not there yet, its
    schema is. `flow` names the flow for ever: pipeline, sink, and `flow_name`; `checkpoint` is its folder. `declared`
    is the sink as its author wrote it; `table_path` says where the Delta table of a name is.
    """

    declared: FormatSink
    options: Mapping[str, str] = field(repr=False)
    rows: DataFrame = field(repr=False)
    mode: Literal["append", "update"]
    flow: str
    flow_name: str
    checkpoint: str
    table_path: Callable[[str], str | None] = field(default=lambda _: None, repr=False)

    @property
    def spark(self) -> SparkSession:
        """The session of the query."""
        return self.rows.sparkSession


@runtime_checkable
class BatchSink(Protocol):
    """Takes the batches of one start of a query, one after the other."""

    def write(self, rows: DataFrame, batch: SinkBatch) -> int | None:
        """Writes a batch, unless the sink has it already (then `batch.skip(rows)`); computing `rows` reads the sources.

        Returns how many rows the sink has taken, None when that is not known: it is compared with what the query
        counted.

        Raises:
            Exception: the batch is tried again, unless it is a mistake of the program.
        """


@runtime_checkable
class JudgesOptions(Protocol):
    """A `Sink` whose options only its client can judge."""

    def problems(self, spark: SparkSession, sink: FormatSink) -> Iterator[PenstockError]:
        """Yields what is wrong with the options of a sink, when a pipeline is validated."""


@runtime_checkable
class PromisesByOptions(Protocol):
    """A `Sink` whose promise is said more exactly with its options known."""

    def promise_of(self, sink: FormatSink) -> str:
        """Returns what becomes of a row in a crash, as a plan says it."""


class Sink(Protocol):
    """How a format is written. An object without state: it is asked for each start of each flow, from any thread."""

    @property
    def options(self) -> Sequence[Option] | None:
        """The options that there are; None leaves them to `open` to check."""

    @property
    def promise(self) -> Promise | None:
        """What becomes of a row in a crash; None: nothing is promised."""

    @property
    def takes_updates(self) -> bool:
        """Whether a row that has changed may come again, as an update flow hands it on."""

    def open(self, target: SinkTarget) -> BatchSink | StreamWriter:
        """Connects, and prepares what the batches need; called before each start of a query.

        Returns what takes the batches; or, where Spark has a sink of its own, what configures and starts the query.

        Raises:
            PenstockError: why the sink cannot take the rows; a `ConnectorError` of a third party's connector.
        """

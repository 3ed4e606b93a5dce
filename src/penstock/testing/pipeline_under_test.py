"""A pipeline that a test drives: rows go in, a step runs, tables are checked."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from penstock.config import PipelineConfig
from penstock.errors import ConfigError, DataError, did_you_mean
from penstock.graph.companions.late_rows import late_rows_path
from penstock.graph.companions.quarantine import quarantine_of, quarantine_path
from penstock.graph.elements import MaterializedView
from penstock.graph.identifier import Identifier
from penstock.plan.selection import RefreshSelection
from penstock.runtime import run_update
from penstock.runtime.flows.services import FlowServices
from penstock.runtime.project.workspace import Workspace, say_nothing
from penstock.spark.delta.tables import forget_tables
from penstock.spark.session.query_settings import query_settings
from penstock.spark.streams.held_query import await_listeners
from penstock.storage import StorageLayout
from penstock.testing.configuration import session_settings, tested_config
from penstock.testing.crash import Crash, forget_newest_commits
from penstock.testing.fed_sources import FedSources, Row
from penstock.testing.readable_errors import readable_errors
from penstock.testing.recorded_events import RecordedEvents
from penstock.testing.row_values import as_utc, read_rows, write_rows
from penstock.testing.session import shared_session
from penstock.testing.stepped_flows import SteppedFlows
from penstock.testing.surroundings import Surroundings

_LATE_ROWS_SECONDS = 0.02
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Counts(NamedTuple):
    """How many rows met an expectation and how many did not, since the pipeline was opened."""

    passed: int
    failed: int


class PipelineUnderTest:
    """A pipeline on storage of its own, whose sources are fed by a test; `pipeline` opens and closes it.

    Its queries start with the first step. They stay up, and take a batch when a step says so.
    """

    def __init__(self, config: PipelineConfig, outside: Surroundings, spark: SparkSession) -> None:
        self._config = config
        self._outside = outside
        self._sources = outside.sources
        self._spark = spark
        self._flows: SteppedFlows | None = None
        self._clock: int | None = None
        self._update: threading.Thread | None = None
        self._events = RecordedEvents()
        self._has_batch = False  # of `as_batch`, with all that was fed

    def feed(self, name: str, rows: Iterable[Row | Crash] | Row, *, source: str | None = None) -> None:
        """Keeps rows for the next step, as the rows that the function of dataset `name` reads from outside.

        Args:
            name: the table or view that reads the source.
            rows: a dict a row, or the text of a line where the source has files of lines; or a single one. A column
                that is left out is NULL. Times are datetimes or ISO texts; those without a zone are UTC. With
                `CRASH` among the rows the pipeline dies in the next step: when the newest batch of each flow is
                written, and its checkpoint does not know it yet. It starts again in the same step.
            source: the name of the source, for a dataset that reads several.

        Raises:
            ConfigError: FED_DATASET_UNKNOWN, FED_DATASET_IS_NO_SOURCE, FED_SOURCE_AMBIGUOUS.
            DataError: FED_ROW_INVALID, FED_COLUMN_UNKNOWN, FED_VALUE_INVALID. Before the first step only the first of
                them is known; the others come from that step.
        """
        with readable_errors():
            self._sources.feed(name, [rows] if isinstance(rows, Mapping | str) else list(rows), source)

    def step(self) -> None:
        """Runs what was fed through all flows: one micro-batch each, those first that others read.

        Where the batch moves the watermark, the one without rows follows that closes what it has passed. A materialized
        view is refreshed when the test looks at it.

        Raises:
            PenstockError: what is wrong with the pipeline or the rows; the failure of a flow, which then has ended:
                `restart` starts it again.
        """
        with readable_errors():
            self._has_batch = False
            flows, crashes = self._running(), self._sources.take_crash()
            before = flows.newest_commits() if crashes else {}
            flows.step(self._sources.publish)
            if crashes:
                self._stop()
                forget_newest_commits(before)
                self._running().step(lambda: None)

    def advance_watermark(self, name: str | None = None, *, to: datetime | str) -> None:
        """Moves the watermark to `to`, as rows of that event time would, without a row; and takes a step without rows.

        Args:
            name: a table whose flow has a watermark; all that have one when None.
            to: the watermark itself, from which no delay is taken off. One that is there already stays.

        Raises:
            ConfigError: TEST_WATERMARK_MISSING, TEST_WATERMARK_NOT_STARTED (the flow has not run a batch yet).
        """
        with readable_errors():
            flows = self._running()
            marked = [each.declaration.target for each in self._services.graph.flows if each.watermark is not None]
            chosen = marked if name is None else [each for each in marked if each == self._identifier(name)]
            if not chosen:
                names = ", ".join(each.name for each in marked) or "none"
                raise ConfigError("TEST_WATERMARK_MISSING", name=name or self._config.name, tables=names)
            for target in chosen:
                flows.move_watermark(target, _milliseconds(to))
            flows.step(lambda: None)

    def watermark(self, name: str) -> datetime | None:
        """Returns the watermark of the flow into a table, in UTC; None before its first batch has set it."""
        found = self._running().watermarks().get(self._identifier(name), 0)
        return _EPOCH + timedelta(milliseconds=found) if found else None

    def table(self, name: str) -> list[dict[str, Any]]:
        """Returns the rows of a table, in no order; moments are in UTC.

        Raises:
            ConfigError: TEST_TABLE_UNKNOWN.
            PenstockError: the failure of a materialized view, which is refreshed now.
        """
        with readable_errors():
            path = self._path(name)
            if isinstance(self._services.graph.tables.get(self._identifier(name)), MaterializedView):
                self._running().refresh()
            return read_rows(path)

    def quarantine(self, name: str) -> list[dict[str, Any]]:
        """Returns the rows that a table or view has put into quarantine, with columns `_quarantine_…` beside their own.

        Raises:
            ConfigError: TEST_TABLE_UNKNOWN.
        """
        with readable_errors():
            of_view = self._services.paths.get(quarantine_of(self._identifier(name)))
            return read_rows(of_view or quarantine_path(self._path(name)))

    def sink(self, name: str) -> list[dict[str, Any]]:
        """Returns the rows that flows have written to a sink, instead of which a test has a table.

        The function of a `foreach_batch_sink` is called as it is, and its rows are not stored.

        Raises:
            ConfigError: TEST_SINK_UNKNOWN.
        """
        with readable_errors():
            found = self._services.graph.sinks
            if self._identifier(name) not in found:
                names = [each.name for each in found]
                suggestion = did_you_mean(name, names, also=f"Its sinks are {', '.join(sorted(names)) or 'none'}.")
                raise ConfigError("TEST_SINK_UNKNOWN", name=name, suggestion=suggestion)
            return read_rows(self._outside.sink(self._identifier(name)))

    def late_rows(self, name: str) -> list[dict[str, Any]]:
        """Returns the rows that were dropped as late on the way into a table, with columns `_late_…` beside their own.

        Each has the columns that the operator was given which dropped it; one that is late for two windows comes twice.

        Raises:
            ConfigError: TEST_TABLE_UNKNOWN.
            DataError: LATE_ROWS_UNKNOWN, where Spark only counts them.
        """
        with readable_errors():
            path, table = self._path(name), self._identifier(name)
            await_listeners(self._spark)
            ended = self._services.board.table(table).ended
            while self._events.awaits_late_rows(table) and not ended.wait(_LATE_ROWS_SECONDS):
                pass  # the flow looks after them beside its batches
            lost = self._events.lost_late_rows(table)
            if lost is not None:
                raise DataError("LATE_ROWS_UNKNOWN", name=name, batch=lost.batch_id, reason=lost.reason)
            return read_rows(late_rows_path(path))

    def expectations(self, name: str) -> dict[str, Counts]:
        """Returns how often each expectation of a table or view was met and broken since the pipeline was opened."""
        with readable_errors():
            self._running().refresh()
        await_listeners(self._spark)
        wanted, found = str(self._identifier(name)).casefold(), dict[str, Counts]()
        for batch in self._events.all_batches():
            for count in batch.expectations:
                if count.dataset.casefold() == wanted:
                    passed, failed = found.get(count.name, Counts(0, 0))
                    found[count.name] = Counts(passed + count.passed_records, failed + count.failed_records)
        return found

    def as_batch(self, name: str) -> list[dict[str, Any]]:
        """Returns what a table holds when the pipeline computes all that was fed so far as one batch, without streams.

        It is what `penstock run --batch` does, beside the tables of the test, which stay as they are.

        Raises:
            ConfigError: TEST_TABLE_UNKNOWN.
            PenstockError: what cannot be computed as a batch.
        """
        with readable_errors():
            self._path(name)
            config = self._config.as_batch()
            if not self._has_batch:
                batch = run_update(config, RefreshSelection(), cause="TEST", spark=self._spark, outside=self._outside)
                if batch.errors:
                    raise batch.errors[0]
                self._has_batch = True
            return read_rows(StorageLayout(config.storage).table(self._identifier(name)))

    def set_clock(self, now: datetime | str) -> None:
        """Sets what `current_timestamp()` and timers of processing time take for now in the streaming flows.

        It does not move until it is set again. Materialized views, and what Penstock notes, have the machine's time.
        """
        with readable_errors():
            self._clock = _milliseconds(now)
            if self._flows is not None:
                self._flows.set_clock(self._clock)

    def restart(self) -> None:
        """Stops the pipeline and starts it again, from its checkpoints and with its files as they are now.

        What was fed and not processed is still fed.

        Raises:
            PenstockError: what keeps it from starting.
        """
        with readable_errors():
            self._running()
            self._stop()
            self._has_batch = False
            self._running()

    def close(self) -> None:
        """Stops the pipeline; `pipeline` does it at the end."""
        self._stop()

    @property
    def _services(self) -> FlowServices:
        services = self._running().services
        assert services is not None
        return services

    def _identifier(self, name: str) -> Identifier:
        return Identifier.parse(name, default_schema=self._config.schema)

    def _path(self, name: str) -> str:
        paths = self._services.paths
        path = paths.get(self._identifier(name))
        if path is None:
            tables = [each.name for each in paths]
            suggestion = did_you_mean(name, tables, also=f"Its tables are {', '.join(sorted(tables))}.")
            raise ConfigError("TEST_TABLE_UNKNOWN", name=name, suggestion=suggestion)
        return path

    def _running(self) -> SteppedFlows:
        if self._flows is None:
            flows = SteppedFlows(self._clock)
            self._update = threading.Thread(target=self._run, args=(flows,), name="pipeline under test", daemon=True)
            self._update.start()
            try:
                flows.await_start()
                self._sources.check()
            except BaseException:
                flows.end()
                self._update.join()
                raise
            self._flows = flows
        return self._flows

    def _run(self, flows: SteppedFlows) -> None:
        error: BaseException | None = None
        try:
            run_update(
                self._config,
                RefreshSelection(),
                cause="TEST",
                on_event=self._events.add,
                spark=self._spark,
                outside=self._outside,
                run=flows.run,
            )
        except BaseException as failure:  # noqa: BLE001 - raised in the test's thread
            error = failure
        flows.has_ended(error)

    def _stop(self) -> None:
        if self._flows is not None and self._update is not None:
            self._flows.end()
            self._update.join()
        self._flows = None


@contextmanager
def pipeline(
    path: Path | str = ".",
    *,
    schemas: Mapping[str, StructType | str] | None = None,
    tables: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    configuration: Mapping[str, str] | None = None,
    environment: str | None = None,
) -> Iterator[PipelineUnderTest]:
    """Opens a pipeline for a test, on storage of its own that is removed at the end.

    Each streaming read of something outside of the pipeline reads what the test feeds. Tables with a path of their own
    lie in that storage as well, sinks are tables there, and event hooks are not called. Nothing is connected to.

    Args:
        path: the folder of a pipeline file, that file, or one Python or SQL file that declares datasets.
        schemas: the columns of sources that the pipeline does not declare, by the dataset that reads them.
        tables: rows of tables that the pipeline reads and does not declare, by name.
        configuration: entries of `configuration` that win over the pipeline file.
        environment: the entry of `environments` to use.

    Raises:
        ConfigError, PipelineInvalid: what is wrong with the files.
    """
    spark = shared_session()
    with tempfile.TemporaryDirectory(prefix="penstock-test-", ignore_cleanup_errors=True) as folder:
        config = tested_config(Path(path), f"{folder}/storage", dict(configuration or {}), environment)
        with query_settings(spark, session_settings(config, spark)):
            known = Workspace.open(config, say_nothing, spark=spark).load(say_nothing).graph()
            config = replace(config, catalog=known.catalog)
            sources = FedSources(Path(folder) / "fed", (*known.datasets, *known.sinks), config.schema, schemas or {})
            for name, rows in (tables or {}).items():
                identifier = Identifier.parse(name, default_schema=config.schema)
                write_rows(spark, StorageLayout(config.storage).table(identifier), rows)
            outside = Surroundings(sources, Path(folder) / "sinks")
            under_test = PipelineUnderTest(config, outside, spark)
            try:
                yield under_test
            finally:
                under_test.close()
                forget_tables(spark)


def _milliseconds(moment: datetime | str) -> int:
    moment = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return (as_utc(moment) - _EPOCH) // timedelta(milliseconds=1)

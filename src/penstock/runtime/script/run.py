"""One run of a script: from the lock to the last event."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.config import PipelineConfig
from penstock.declare.user_frames import failure_location
from penstock.errors import DefinitionError, PenstockError, SourceLocation, conditions
from penstock.events import Event, EventLog, EventType, UpdateState, builders, new_update_id
from penstock.runtime.reporting.cluster_watch import ClusterWatch, watching_cluster
from penstock.runtime.reporting.event_table import event_table
from penstock.runtime.reporting.followers import Follower, followed_by
from penstock.runtime.reporting.reporter import Reporter
from penstock.runtime.script.queries import ScriptQueries
from penstock.runtime.script.reads import ScriptReads
from penstock.runtime.script.reports import ScriptReports
from penstock.runtime.script.session import ScriptSession
from penstock.runtime.script.stream_write import StreamWrite
from penstock.runtime.script.user_code import UserCode, script_error
from penstock.runtime.script.watcher import Interrupt, Stopping, Watcher
from penstock.runtime.script.writer_hooks import hooked_writers, script_location
from penstock.runtime.update import UpdateOutcome
from penstock.spark.reading.hooks import install_read_hooks
from penstock.spark.reading.read_handler import handling_reads_everywhere
from penstock.spark.session.cluster.executors import Cluster
from penstock.spark.session.session import driver_log
from penstock.storage import LockOwner, StorageLayout, StorageLock

_POLL_SECONDS = 0.2


def run_script(
    config: PipelineConfig,
    file: Path,
    arguments: Sequence[str] = (),
    *,
    on_event: Callable[[Event], None] | None = None,
    followers: Sequence[Follower] = (),
    stop: threading.Event | None = None,
    interrupt: Interrupt | None = None,
    progress: Callable[[str], None] = lambda _line: None,
    spark: SparkSession | None = None,
) -> UpdateOutcome:
    """Runs the script at `file` in this thread, and waits for the queries that it leaves running.

    `config` is what `load_script` returns. `on_event` is called with each event, from any thread, and must be quick;
    `followers` follow the log; `progress` is called with a line before each slow step. When `stop` is set, the queries
    end after their current batches; a script that goes on all the same is ended by `interrupt`, which is to raise in
    this thread something that is no Exception. `spark` is a session to run on; without one Spark is started when the
    script asks for it, and goes on until this process ends.

    Raises:
        ConfigError, DefinitionError: the script cannot be read.
        StateError: STORAGE_LOCKED.
        BaseException: what the script raised that is no Exception.
    """
    conditions()  # read now: an error must be shown when no file can be opened any more
    run = _ScriptRun(config, file.absolute(), stop or threading.Event(), progress)
    code = UserCode.read(run.file)
    lock = StorageLock(config.storage, LockOwner.current(), on_lost=run.abandon_storage)
    with (
        lock,
        EventLog.open(config.storage, pipeline_name=config.name, update_id=new_update_id()) as log,
        event_table(config, log),
        followed_by(followers, log),
    ):
        if on_event is not None:
            log.subscribe(on_event)
        version = metadata.version("penstock")
        log.append(
            EventType.CREATE_UPDATE,
            *builders.create_update(pipeline=config.name, cause="USER_ACTION", version=version),
        )
        log.append(EventType.USER_ACTION, *builders.user_action("START", arguments={"script": file.name}))
        return run.run(code, arguments, log, lock, interrupt=interrupt, spark=spark)


class _ScriptRun:
    """What one run of a script remembers."""

    def __init__(
        self, config: PipelineConfig, file: Path, stop: threading.Event, progress: Callable[[str], None]
    ) -> None:
        self.file = file
        self._config = config
        self._layout = StorageLayout(config.storage)
        self._stopping = Stopping(stop)
        self._progress = progress
        self._reads = ScriptReads(config.name, self._layout, config.secret)
        self._locate = script_location(file.parent)
        self._noticed: set[tuple[str, SourceLocation | None, str]] = set()
        self._reports: ScriptReports | None = None
        self._queries: ScriptQueries | None = None
        self._cluster: ClusterWatch | None = None
        self._with_session = ExitStack()

    def abandon_storage(self) -> None:
        """The lock is lost: another run has taken the storage over, or soon may."""
        self._stopping.abandon.set()
        self._stopping.stop.set()

    def run(
        self,
        code: UserCode,
        arguments: Sequence[str],
        log: EventLog,
        lock: StorageLock,
        *,
        interrupt: Interrupt | None,
        spark: Any,
    ) -> UpdateOutcome:
        """Runs the script to its end, and its queries to theirs."""
        self._reports = reports = ScriptReports(log, self._config.name, self._config.redact)
        self._reporter = Reporter(log, self._config.name, self._config.redact)
        reports.update(UpdateState.INITIALIZING)
        install_read_hooks()
        try:
            errors = self._run(code, arguments, lock, interrupt, spark)
        except BaseException as error:
            with suppress(Exception):  # a log that cannot be written must not hide the error
                reports.update(UpdateState.FAILED, reason=type(error).__name__)
            raise
        finally:
            self._with_session.close()
            if self._queries is not None:
                self._queries.detach()
        if lock.lost is not None:
            raise lock.lost
        state = UpdateState.CANCELED if self._stopping.stop.is_set() else UpdateState.COMPLETED
        if errors:
            reports.update(UpdateState.FAILED, error=errors[0])
            return UpdateOutcome(UpdateState.FAILED, log.update_id, errors)
        reports.update(state)
        return UpdateOutcome(state, log.update_id)

    def _run(
        self, code: UserCode, arguments: Sequence[str], lock: StorageLock, interrupt: Interrupt | None, spark: Any
    ) -> tuple[PenstockError, ...]:
        session = ScriptSession(
            self._config,
            self.file,
            notice=self._notice,
            locate=self._locate,
            on_start=self._begin,
            progress=self._progress,
            spark=spark,
        )

        def check() -> None:
            lock.check()
            if self._cluster is not None:
                self._cluster.check()

        with (
            session.hooked(self._stop_queries),
            handling_reads_everywhere(self._reads),
            hooked_writers(self._start, self._locate) as waiting,
            Watcher(lambda: self._queries, self._stopping, interrupt, check) as watcher,
        ):
            try:
                failure = self._execute(code, arguments, session)
                watcher.script_ended.set()
                if failure is None:
                    failure = self._without_query(waiting)
                    self._await_queries()
                else:
                    self._stop_queries()
            except BaseException:
                self._stopping.abandon.set()  # nothing waits for a batch any more
                raise
            finally:
                watcher.script_ended.set()
        failed = () if self._queries is None else self._queries.errors
        own = [each for each in (failure, watcher.failure) if each is not None]
        return (*own, *failed)

    def _execute(self, code: UserCode, arguments: Sequence[str], session: ScriptSession) -> PenstockError | None:
        try:
            code.run(arguments, session.get({}) if code.wants_session else None)
        except SystemExit as end:
            if end.code not in {None, 0}:
                place = failure_location(end.__traceback__, self.file.parent)
                return DefinitionError("SCRIPT_FAILED", location=place, error="SystemExit", reason=str(end.code))
        except StreamingQueryException as ended:
            if self._queries is not None:
                self._queries.await_reports()
                if self._queries.errors:
                    return None  # it is reported with the query's own line
            return script_error(ended, self.file)
        except Exception as error:  # noqa: BLE001 - a script can raise anything
            return script_error(error, self.file)
        except BaseException:
            if not self._stopping.stop.is_set() or (self._queries is not None and self._queries.running):
                raise
        return None

    def _without_query(self, waiting: Sequence[SourceLocation]) -> PenstockError | None:
        if self._stopping.stop.is_set() or (self._queries is not None and self._queries.started):
            return None
        if waiting:
            return DefinitionError("SCRIPT_WITHOUT_QUERY", location=waiting[-1])
        self._notice(DefinitionError("SCRIPT_WITHOUT_STREAM", location=SourceLocation(self.file.name)))
        return None

    def _await_queries(self) -> None:
        """Python would end here, and the queries with it."""
        if self._queries is None:
            return
        self._queries.await_reports()
        if (running := self._queries.running) and not self._stopping.stop.is_set():
            names = ", ".join(each.write.name for each in running)
            self._notice(DefinitionError("QUERIES_NOT_AWAITED", location=running[0].write.location, queries=names))
        while self._queries.running:
            time.sleep(_POLL_SECONDS)

    def _begin(self, spark: SparkSession) -> None:
        assert self._reports is not None
        self._reports.update(UpdateState.RUNNING)
        self._queries = ScriptQueries(
            self._config.name,
            self.file.parent,
            spark=spark,
            layout=self._layout,
            catalog=self._config.catalog,
            reads=self._reads,
            reports=self._reports,
            notice=self._notice,
            stop=self._stopping.stop,
            stop_timeout=self._config.stop_timeout,
        )
        self._queries.attach()
        watching = watching_cluster(
            Cluster.of(spark, driver_log()),
            self._reporter,
            timeout=self._config.cluster_timeout,
            abandon=self._stopping.abandon,
        )
        self._cluster = self._with_session.enter_context(watching)

    def _start(self, write: StreamWrite) -> StreamingQuery:
        assert self._queries is not None, "there is no query without a session"
        return self._queries.start(write)

    def _stop_queries(self) -> None:
        if self._queries is not None:
            self._queries.stop_all(self._stopping.abandon)

    def _notice(self, notice: PenstockError) -> None:
        """Reports a notice once: a loop may start its queries many times."""
        key = (notice.condition, notice.location, notice.message)
        if key not in self._noticed and self._reports is not None:
            self._noticed.add(key)
            self._reports.notice(notice)

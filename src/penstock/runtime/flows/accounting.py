"""Accounts for the rows of each batch: what the query counted against what the targets' own commits say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from deltalake.exceptions import DeltaError

from penstock.config import TriggerKind
from penstock.errors import DataError, PenstockError, first_line
from penstock.events import BatchAccounts, Verdict
from penstock.graph.companions import quarantine
from penstock.graph.elements import ChangeFlow, FunctionSink
from penstock.graph.resolved import ResolvedFlow
from penstock.plan.stages import RefreshMaterializedView, RunOnceFlow, RunSinkFlow, RunStreamingFlow
from penstock.runtime.flows.services import FlowQuery, FlowServices
from penstock.spark.plans.inspection import RowKeeping, row_keeping
from penstock.spark.sinks.batch_writer import BatchWriter
from penstock.spark.streams.progress import CountedRows, counted_rows, deduplicated_rows, delta_path
from penstock.spark.streams.writes import StreamWriter
from penstock.spark.writers.checking_writer import Counters
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.delta.commits import Commit, CommitOutOfReach, DeltaCommits
from penstock.storage.delta.table import open_delta_table

_BATCH_QUERY = "Spark does not report how many rows a batch query reads"
_NO_QUERY_COUNTS = "Spark reported no counts of the query"
_NO_COUNTS = "its query reported no counts: the target has had this batch before"
_LOST_COUNTS = "the counters of the query were lost"
_RAN_AGAIN = "executors were lost during the batch, and Spark counts the rows of a task that ran again twice"
_UNREADABLE = (PenstockError, DeltaError, CommitOutOfReach, OSError, ValueError)


def report_accounts(accounts: BatchAccounts, flow: ResolvedFlow, services: FlowServices) -> None:
    """Writes a batch's accounts to the event log; the first that do not add up make the update fail at its end.

    The flow goes on: what it has committed stays committed, and the rows after it are not worse for that.
    """
    error: DataError | None = None
    if accounts.verdict is Verdict.BROKEN:
        error = DataError(
            "ACCOUNTING_BROKEN",
            location=flow.declaration.location,
            dataset=str(flow.declaration.target),
            flow=flow.declaration.name,
            batch=accounts.batch_id,
            equation=accounts.broken_equation,
            name=flow.declaration.target,
        )
        services.board.does_not_add_up(error)
    services.reporter.accounting(flow, accounts, error=error)


@dataclass(slots=True)
class StreamAccounts:
    """Draws up the accounts of one start of a streaming flow, batch by batch.

    It reads one new commit of each table that a batch was written to, and starts no job. It never raises: what
    cannot be read is not checkable.
    """

    _stage: RunStreamingFlow | RunSinkFlow
    _query: FlowQuery
    _keeping: RowKeeping
    _real_time: bool
    _log: str | None
    _writer: StreamWriter
    _repeated: int | None
    """The batch that was planned when the query started: its target may hold it from before a crash."""
    _commits: dict[str, DeltaCommits] = field(default_factory=dict)
    _executors_lost: Callable[[], int] = lambda: 0
    _lost_before: int = 0

    @classmethod
    def of(
        cls,
        stage: RunStreamingFlow | RunSinkFlow,
        query: FlowQuery,
        writer: StreamWriter,
        services: FlowServices,
        *,
        checkpoint: str,
    ) -> StreamAccounts:
        """Prepares the accounts of a flow whose query is about to start with `writer`."""
        real_time = services.trigger_of(stage.flow).kind is TriggerKind.REAL_TIME
        planned = CheckpointFolder.open_without_state(checkpoint).in_flight
        keeping, log, lost = row_keeping(query.frame), _change_log(stage, services), services.executors_lost
        return cls(stage, query, keeping, real_time, log, writer, planned, _executors_lost=lost, _lost_before=lost())

    def draw_up(self, progress: Mapping[str, Any], files_gone: tuple[str, ...] = ()) -> BatchAccounts:
        """Returns the accounts of the batch that Spark's `progress` reports, with all counters among its metrics.

        `files_gone` are files of the batch that were not read, which matters unless the target had it already.
        """
        rows = counted_rows(progress.get("observedMetrics") or {}, self._query.counted)
        read = int(progress.get("numInputRows") or 0)
        late = sum(int(state["numRowsDroppedByWatermark"]) for state in progress["stateOperators"])
        repeats = deduplicated_rows(progress)
        unchecked = self._unchecked_query(read, rows, repeats)
        accounts = _counted(rows, int(progress["batchId"]), query_unchecked=unchecked, no_counts=_NO_COUNTS)
        accounts = replace(accounts, read=read, late=late, deduplicated=repeats or 0)
        if accounts.target_unchecked is None:
            accounts = self._with_commits(accounts, progress)
        elif not self._real_time and self._writes_commits(progress):
            accounts = replace(accounts, written=self._with_commits(accounts, progress).written)
        if not accounts.evaluated and accounts.written:
            if accounts.batch_id == self._repeated:  # Delta's sink left out a batch that the table had already
                return replace(accounts, query_unchecked=_NO_COUNTS, target_unchecked=_NO_COUNTS)
            accounts = replace(accounts, evaluated=0, query_unchecked=_LOST_COUNTS, target_unchecked=None)
        if accounts.missing_in_query and (table := _with_deletion_vectors(progress)) is not None:
            reason = f"Spark counts rows that deletion vectors of {table} have deleted as read"
            accounts = replace(accounts, query_unchecked=reason)
        before, self._lost_before = self._lost_before, self._executors_lost()
        if accounts.missing_in_query and self._lost_before > before:
            accounts = replace(accounts, query_unchecked=_RAN_AGAIN)
        return replace(accounts, files_gone=files_gone)

    def _unchecked_query(self, read: int, rows: CountedRows, repeats: int | None) -> str | None:
        if self._real_time:
            return "in real-time mode Spark counts rows when they pass, not by batch"
        if rows.evaluated is None:
            return _NO_COUNTS
        if isinstance(self._stage, RunSinkFlow) and isinstance(self._stage.sink, FunctionSink):
            return "a function of the pipeline may take some of the rows only, or all of them twice"
        if self._keeping.changed_by is not None:
            return f"the query does not keep each row: {self._keeping.changed_by}"
        if self._keeping.deduplicates and repeats is None:
            return "Spark did not report how many duplicates it removed"
        if read == 0 and rows.evaluated:
            return "Spark did not count what this query read"
        return None

    def _writes_commits(self, progress: Mapping[str, Any]) -> bool:
        sink = str((progress.get("sink") or {}).get("description"))
        return isinstance(self._stage, RunStreamingFlow) or delta_path(sink, "DeltaSink") is not None

    def _with_commits(self, accounts: BatchAccounts, progress: Mapping[str, Any]) -> BatchAccounts:
        query_id, batch = str(progress["id"]), accounts.batch_id
        try:
            match self._stage:
                case RunStreamingFlow(path=path, dataset=dataset):
                    written = self._written(self._log or path, query_id, batch)
                    if self._query.checking is not None and accounts.quarantined:
                        name = str(quarantine.quarantine_of(dataset))
                        quarantined = self._written(quarantine.quarantine_path(path), f"{query_id}/{name}", batch)
                        if quarantined is not None:
                            accounts = replace(accounts, quarantined=quarantined)
                    return _with_written(accounts, written)
                case RunSinkFlow(sink=FunctionSink()):
                    return replace(accounts, target_unchecked="a function of the pipeline writes the rows")
                case RunSinkFlow():
                    return self._sunk(accounts, progress.get("sink") or {}, query_id)
                case _:
                    assert_never(self._stage)
        except _UNREADABLE as error:
            return replace(accounts, target_unchecked=_unreadable(error))

    def _sunk(self, accounts: BatchAccounts, sink: Mapping[str, Any], query_id: str) -> BatchAccounts:
        path = delta_path(str(sink.get("description")), "DeltaSink")
        if path is not None:
            return _with_written(accounts, self._written(path, query_id, accounts.batch_id))
        reported = int(sink.get("numOutputRows", -1))
        if isinstance(self._writer, BatchWriter):
            written = self._writer.rows_written(accounts.batch_id)
            reported = -1 if written is None else written
        if self._real_time or reported < 0:
            return replace(accounts, target_unchecked="the sink does not report how many rows it wrote")
        return replace(accounts, written=reported)

    def _written(self, path: str, app_id: str, batch: int) -> int | None:
        """Returns the rows in the commit of a batch, 0 without a commit, None when the commit does not say."""
        commits = self._commits.setdefault(path, DeltaCommits(path))
        commit = commits.of_transaction(app_id, batch)
        return _rows(commit)


def accounts_of_refresh(
    stage: RefreshMaterializedView | RunOnceFlow,
    query: FlowQuery,
    counters: Counters,
    services: FlowServices,
    *,
    batch_id: int,
    transaction: tuple[str, int] | None,
    note: str,
) -> BatchAccounts:
    """Returns the accounts of a batch query that was just written, under a `transaction` or with a `note`.

    Never raises; see `StreamAccounts`.
    """
    accounts = _counted(counted_rows(counters, query.counted), batch_id)
    if accounts.target_unchecked is not None:
        return accounts
    try:
        commits = DeltaCommits(_change_log(stage, services) or stage.path)
        commit = commits.newest_write(note) if transaction is None else commits.of_transaction(*transaction)
        if commit is None and transaction is None:
            return replace(accounts, target_unchecked="the commit was not found")
        quarantined = accounts.quarantined
        if transaction is None and query.checking is not None and quarantined:  # only this flow writes to it
            committed = _rows(DeltaCommits(quarantine.quarantine_path(stage.path)).newest_write(""))
            quarantined = quarantined if committed is None else committed
        return _with_written(replace(accounts, quarantined=quarantined), _rows(commit))
    except _UNREADABLE as error:
        return replace(accounts, target_unchecked=_unreadable(error))


def accounts_of_snapshot(query: FlowQuery, counters: Counters, *, batch_id: int) -> BatchAccounts:
    """Returns the accounts of a snapshot that was just applied."""
    accounts = _counted(counted_rows(counters, query.counted), batch_id)
    reason = accounts.target_unchecked or "rows of a snapshot that the table has already are not written"
    return replace(accounts, target_unchecked=reason)


def _counted(
    rows: CountedRows, batch_id: int, *, query_unchecked: str | None = _BATCH_QUERY, no_counts: str = _NO_QUERY_COUNTS
) -> BatchAccounts:
    """Returns what a query has counted itself, with no word of the target yet; `no_counts`: why it has none."""
    return BatchAccounts(
        batch_id=batch_id,
        read=None,
        evaluated=rows.evaluated,
        written=None,
        dropped=rows.dropped,
        quarantined=rows.quarantined,
        dropped_in_views=rows.dropped_in_views,
        query_unchecked=query_unchecked,
        target_unchecked=no_counts if rows.evaluated is None else None,
    )


def _change_log(
    stage: RunStreamingFlow | RunSinkFlow | RefreshMaterializedView | RunOnceFlow, services: FlowServices
) -> str | None:
    """Where the events of a change flow are remembered; None for a flow of another kind."""
    if isinstance(stage, (RunStreamingFlow, RunOnceFlow)) and isinstance(stage.flow.declaration, ChangeFlow):
        return services.layout.change_log(stage.dataset, stage.generation)
    return None


def _rows(commit: Commit | None) -> int | None:
    return 0 if commit is None else commit.rows


def _with_written(accounts: BatchAccounts, rows: int | None) -> BatchAccounts:
    if rows is None:
        return replace(accounts, target_unchecked="the commit does not record how many rows it wrote")
    return replace(accounts, written=rows)


def _with_deletion_vectors(progress: Mapping[str, Any]) -> str | None:
    """Returns a Delta source whose files may hold deleted rows, or that cannot be read."""
    for source in progress.get("sources") or []:
        path = delta_path(str(source.get("description")), "DeltaSource")
        try:
            if path is not None and "deletionVectors" in (open_delta_table(path).protocol().writer_features or ()):
                return path
        except _UNREADABLE:
            return path
    return None


def _unreadable(error: BaseException) -> str:
    return f"the log of the target does not say: {first_line(error)}"

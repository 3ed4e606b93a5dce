"""One batch flow: the refresh of a materialized view, or a once-flow."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from penstock.errors import first_line
from penstock.events import FlowStatus, RefreshMethod
from penstock.graph.elements import ChangeFlow, RefreshPolicy
from penstock.plan.refresh import UNCHANGED, changed_inputs
from penstock.plan.stages import RefreshMaterializedView, RunOnceFlow
from penstock.plan.state import RefreshRecord
from penstock.runtime.flows.accounting import accounts_of_refresh, report_accounts
from penstock.runtime.flows.change_target import applying_changes, with_merged
from penstock.runtime.flows.failures import with_place
from penstock.runtime.flows.incremental import refresh_of, refuse_if_strict
from penstock.runtime.flows.retry import Stopped
from penstock.runtime.flows.services import FlowQuery, FlowServices
from penstock.runtime.storage_state.refresh_notes import refresh_note, versions_of
from penstock.runtime.storage_state.state import once_transaction
from penstock.spark.failures.translate import translate_failure
from penstock.spark.streams.progress import refresh_progress
from penstock.spark.streams.writes import EMPTY_COMMITS, Replacement, append_rows, replace_rows
from penstock.spark.writers.checking_writer import Counters
from penstock.spark.writers.incremental.refresh import Refresh
from penstock.spark.writers.incremental.write import write_refresh


class BatchFlow:
    """Runs one batch stage; in a continuous update, a materialized view's again and again."""

    def __init__(self, stage: RefreshMaterializedView | RunOnceFlow, services: FlowServices) -> None:
        self._stage = stage
        self._flow = stage.flow
        self._services = services
        self._refreshes = 0
        self.incremental = False
        """Whether the last refresh was by what had changed, or in full only because that was quicker."""
        self._last = stage.last if isinstance(stage, RefreshMaterializedView) else None

    def run(self) -> str | None:
        """Blocks until the rows are committed; returns why a refresh was left out, None when it was not.

        Raises:
            PenstockError: it failed for good; the table is as it was.
            Stopped: the update was asked to stop before it began.
        """
        read = self._read_now()
        if read is not None and self._last is not None and not changed_inputs(self._last, read.inputs, read.inputs):
            return f"unchanged: {UNCHANGED}"
        self._services.with_retries(self._flow, lambda: self._run_once(self._read_now()))
        return None

    def _read_now(self) -> RefreshRecord | None:
        """What a refresh that begins now is computed from, at least: newer rows are read again by the next one."""
        if not isinstance(self._stage, RefreshMaterializedView) or self._flow.definition is None:
            return None
        return RefreshRecord(self._flow.definition.fingerprint, versions_of(self._stage.inputs))

    def _run_once(self, read: RefreshRecord | None) -> None:
        services = self._services
        if services.stop.is_set():
            raise Stopped
        try:
            services.reporter.flow(self._flow, FlowStatus.RUNNING)
            started = time.monotonic()
            services.describe_jobs(self._flow)
            conf = services.spark_conf(self._flow)
            transaction: tuple[str, int] | None = None
            note = ""
            if isinstance(self._stage, RunOnceFlow):
                query = services.query(self._flow)
                target = self._stage.dataset
                app_id = once_transaction(
                    services.pipeline, target, self._flow.declaration.name, self._stage.generation
                )
                transaction = (app_id, 0)
                counters = self._append(query, transaction, conf)
            else:
                query, note, counters = self._refresh(read, conf)
        except Exception as error:
            known = translate_failure(error, dataset=str(self._stage.dataset), flow=self._flow.declaration.name)
            raise with_place(known, self._flow, services) from error
        seconds = time.monotonic() - started
        progress = refresh_progress(counters, query.counted, batch_id=self._refreshes, seconds=seconds)
        progress = with_merged(progress, query.checking, 0)  # a transaction of its own, always the same
        services.board.table(self._stage.dataset).committed()
        services.reporter.batch(self._flow, progress)
        accounts = accounts_of_refresh(
            self._stage,
            query,
            counters,
            services,
            batch_id=self._refreshes,
            transaction=transaction,
            note=note,
        )
        report_accounts(accounts, self._flow, services)
        self._refreshes += 1

    def _append(self, query: FlowQuery, transaction: tuple[str, int], conf: Mapping[str, str]) -> Counters:
        checking = query.checking
        if isinstance(self._stage, RunOnceFlow) and isinstance(self._flow.declaration, ChangeFlow):
            checking = applying_changes(self._stage, self._flow.declaration, self._services, query)
        if checking is not None:
            return checking.append(query.frame, query.observed, transaction=transaction, conf=conf)
        return append_rows(query.frame, query.observed, path=self._stage.path, transaction=transaction, conf=conf)

    def _refresh(self, read: RefreshRecord | None, conf: Mapping[str, str]) -> tuple[FlowQuery, str, Counters]:
        """Refreshes the view by what has changed or in full; returns its query, the commit's note and the counters."""
        assert isinstance(self._stage, RefreshMaterializedView)
        refresh = refresh_of(self._stage, self._services, again=self._refreshes > 0)
        try:
            return self._refreshed(refresh, read, conf)
        except (PySparkException, Py4JJavaError) as error:
            if refresh is None or refresh.in_full is None:
                raise
            instead = refresh.in_full(f"what has changed cannot be applied: {first_line(error)}")
            refuse_if_strict(instead, self._stage, self._services)
            return self._refreshed(instead, read, conf)

    def _refreshed(
        self, refresh: Refresh | None, read: RefreshRecord | None, conf: Mapping[str, str]
    ) -> tuple[FlowQuery, str, Counters]:
        cost = None if refresh is None else refresh.cost
        in_full = refresh is None or refresh.choice.method is RefreshMethod.FULL
        self.incremental = not in_full or (cost is not None and cost.chosen)
        if refresh is not None:
            self._services.reporter.refresh(self._flow, refresh.choice)
        if refresh is not None and refresh.versions is not None:
            rows = refresh.rows
            query = self._services.query(self._flow, lambda: rows)
            if read is not None:
                read = replace(
                    read, inputs={**read.inputs, **refresh.versions}, exact=True, method=refresh.choice.method.value
                )
        else:
            query = self._services.query(self._flow)
        note = "" if read is None else refresh_note(read, cost)
        counters = self._write(refresh, query, note, conf)
        self._last = read if self._may_be_left_out() else None
        return query, note, counters

    def _write(self, refresh: Refresh | None, query: FlowQuery, note: str, conf: Mapping[str, str]) -> Counters:
        assert isinstance(self._stage, RefreshMaterializedView)
        table, path = self._services.graph.tables[self._stage.dataset], self._stage.path
        changing = refresh is not None and refresh.in_full is not None
        keeps = changing or self._stage.keeps_schema
        replacement = Replacement(table.partition_columns, table.cluster_by, note, keeps_schema=keeps)
        rows, observed, conf = query.frame, query.observed, {**conf, **EMPTY_COMMITS}
        if query.checking is not None:
            return query.checking.replace(rows, observed, replacement=replacement, conf=conf)
        if refresh is not None and changing:
            return write_refresh(refresh, rows, observed, path=path, replacement=replacement, conf=conf)
        return replace_rows(rows, observed, path=path, replacement=replacement, conf=conf)

    def _may_be_left_out(self) -> bool:
        policy = self._services.graph.tables[self._stage.dataset].refresh_policy
        return (
            policy is not RefreshPolicy.FULL
            and self._flow.definition is not None
            and self._flow.definition.always is None
        )

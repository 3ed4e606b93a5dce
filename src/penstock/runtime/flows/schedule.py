"""Runs the flows of an update side by side, each as soon as what it reads allows."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext

from pyspark import InheritableThread

from penstock.config import parse_interval
from penstock.errors import InternalError, PenstockError, exhaustion
from penstock.events import FlowStatus
from penstock.plan.stages import (
    FlowStage,
    RefreshMaterializedView,
    RunOnceFlow,
    RunSinkFlow,
    RunSnapshotFlow,
    RunStreamingFlow,
    StreamingStage,
)
from penstock.runtime.flows.batch_flow import BatchFlow
from penstock.runtime.flows.board import TableProgress
from penstock.runtime.flows.retry import Stopped
from penstock.runtime.flows.services import FlowServices
from penstock.runtime.flows.snapshot_flow import SnapshotFlow
from penstock.runtime.flows.streaming_flow import StreamingFlow
from penstock.spark.session.setup.children import kill_children

MAX_CONCURRENT_FLOWS = 16
_LONGEST_PAUSE = 60.0
"""Seconds between two refreshes of a continuous update, where no trigger interval is set."""

_PAUSE_FACTOR = 10.0
"""So many times as long as it took is the pause after an incremental refresh of the only view."""

_POLL_SECONDS = 0.2
_ABANDON_SECONDS = 10.0  # with GIVE_UP_SECONDS of the lock less than its STALE_SECONDS

FlowRunner = Callable[[tuple[FlowStage, ...], FlowServices], None]
"""What runs the flows of an update: returns when each has ended, with their errors on the board of the services."""


def run_flows(stages: Iterable[FlowStage], services: FlowServices) -> None:
    """Runs all flows and returns when each has ended; errors are on the board.

    A triggered flow waits for the tables that it reads: until they are complete, or, where the plan
    allows overlap, until their first batch. When one of them fails, it is SKIPPED; flows that do
    not read a failed table go on. What is raised here meanwhile, such as KeyboardInterrupt or by `services.check`, is
    raised on when the flows have ended: at once, without their current batches, which the next update runs again.
    So is what has ended the thread of a flow; a JVM that does not let the flows end is killed.
    """
    slots = threading.BoundedSemaphore(MAX_CONCURRENT_FLOWS) if services.trigger.stops else None
    stages = tuple(stages)
    views = sum(isinstance(stage, RefreshMaterializedView) for stage in stages)
    flows = [FlowThread(stage, services, slots, views) for stage in stages]
    started: list[FlowThread] = []
    try:
        for flow in flows:
            flow.start()
            started.append(flow)
        _await(flows, services)
        if services.abandon.is_set():
            _end_soon(flows)
    except BaseException as error:
        services.abandon.set()
        services.stop.set()
        if isinstance(error, PenstockError):
            _end_soon(started)
        raise
    finally:
        for flow in started:
            flow.join()  # they write to the event log, which is closed next
    if (crash := next((flow.crash for flow in flows if flow.crash is not None), None)) is not None:
        raise (services.board.errors or (crash,))[0]


def _await(flows: Sequence[FlowThread], services: FlowServices) -> None:
    """Watches the flows, and what all of them need, until each has ended or the update was abandoned."""
    while (running := [flow for flow in flows if not flow.ended.is_set()]) and not services.abandon.is_set():
        # Not join(): Python 3.11 takes a thread whose join() was interrupted for one that has ended.
        running[0].ended.wait(_POLL_SECONDS)
        services.check()
        if any(flow.crash is not None for flow in flows):
            services.abandon.set()
            services.stop.set()


def _end_soon(flows: Sequence[FlowThread]) -> None:
    """Lets no flow of an abandoned update write for longer than a few seconds: the lock may be another's then."""
    deadline = time.monotonic() + _ABANDON_SECONDS
    if not all(flow.ended.wait(max(deadline - time.monotonic(), 0)) for flow in flows):
        kill_children()


class FlowThread(InheritableThread):
    """Takes one flow through its states; its errors go on the board of the services.

    `views` are the materialized views of the update: together their refreshes by what has changed take a tenth of the
    time. `ended` is set last. `crash` is what has ended the thread itself: the end of the flow is in no event then.
    """

    def __init__(
        self, stage: FlowStage, services: FlowServices, slots: threading.Semaphore | None, views: int = 1
    ) -> None:
        super().__init__(target=self._run_flow, name=f"flow {stage.dataset}", session=services.spark)
        self.daemon = True
        self.ended = threading.Event()
        self.crash: BaseException | None = None
        self._stage = stage
        self._services = services
        self._slots = slots
        self._pause_factor = _PAUSE_FACTOR * max(views, 1)
        self._upstream = tuple(map(services.board.table, stage.after))
        self._status = FlowStatus.FAILED

    def run(self) -> None:
        """Blocks until the flow has ended; raises nothing."""
        try:
            super().run()  # it calls the JVM before the flow's own code, which fails when no connection can be opened
        except BaseException as error:  # noqa: BLE001 - whatever it is, the update ends with it
            self.crash = error
        finally:
            self._services.board.table(self._stage.dataset).flow_ended(self._status)
            self.ended.set()

    def _run_flow(self) -> None:
        status, error, reason = FlowStatus.COMPLETED, None, None
        try:
            self._services.reporter.flow(self._stage.flow, FlowStatus.QUEUED)
            if failed := self._await_upstream():
                status, reason = FlowStatus.SKIPPED, f"{failed} did not complete"
            else:
                with self._slots or nullcontext():
                    reason = self._run_stage()
                if any(table.failed for table in self._upstream):
                    status, reason = FlowStatus.SKIPPED, "what it reads did not complete; the rows so far were taken"
        except Stopped:
            status = FlowStatus.STOPPED
        except PenstockError as failure:
            status, error = FlowStatus.FAILED, failure
        except BaseException as failure:  # noqa: BLE001 - a thread's bug must end the update, not hang it
            status, dataset = FlowStatus.FAILED, str(self._stage.dataset)
            error = exhaustion(failure) or InternalError("FLOW_CRASHED", dataset=dataset, error=repr(failure))
            error.dataset, error.__cause__ = dataset, failure
        if error is not None:
            self._services.board.failed(error)
        self._services.reporter.flow(self._stage.flow, status, reason=reason, error=error)
        self._status = status

    def _await_upstream(self) -> str | None:
        """Waits for the inputs; returns the name of one that failed.

        In a continuous update a refresh waits for the first batches, but not for ever: there may be
        no new data, only that of earlier updates.
        """
        if not self._services.trigger.stops and isinstance(self._stage, StreamingStage):
            return None
        latest = math.inf if self._services.trigger.stops else time.monotonic() + self._pause()
        overlap = isinstance(self._stage, StreamingStage) and self._stage.overlap
        for name, table in zip(self._stage.after, self._upstream, strict=True):
            ready = table.first_batch if overlap or not self._services.trigger.stops else table.ended
            while not ready.wait(_POLL_SECONDS) and time.monotonic() < latest:
                if self._services.stop.is_set():
                    raise Stopped
            if table.failed and table.ended.is_set():
                return str(name)
        return None

    def _run_stage(self) -> str | None:
        """Runs the flow to its end; returns why there was nothing to do, if so."""
        match self._stage:
            case RunStreamingFlow() | RunSinkFlow():
                StreamingFlow(self._stage, self._services, self._upstream).run()
            case RunOnceFlow():
                return BatchFlow(self._stage, self._services).run()
            case RefreshMaterializedView():
                definition = self._stage.flow.definition
                elsewhere = definition is not None and (definition.moving or bool(definition.outside))
                refresh = BatchFlow(self._stage, self._services)
                return self._run_again_and_again(refresh.run, lambda: refresh.incremental, each_time=elsewhere)
            case RunSnapshotFlow():
                flow = SnapshotFlow(self._stage, self._services)
                return self._run_again_and_again(flow.run, each_time=not self._upstream)
        return None

    def _pause(self, seconds: float = math.inf) -> float:
        """The shortest time in seconds between two runs of a continuous update, one of which took `seconds`.

        The trigger interval, if there is one; else a minute, or less after a short run.
        """
        interval = self._services.trigger_of(self._stage.flow).interval
        pause = min(self._pause_factor * seconds, _LONGEST_PAUSE) if interval is None else parse_interval(interval)
        return max(pause, _POLL_SECONDS)

    def _run_again_and_again(
        self, run: Callable[[], str | None], cheap: Callable[[], bool] = lambda: False, *, each_time: bool
    ) -> str | None:
        """Runs a batch flow; in a continuous update again whenever a table that it reads has changed, not too often.

        Commits that are made during a run may not be in it. Nothing reports when data outside of the pipeline
        changes, so with `each_time` that is checked each time. `cheap` says whether the last run may soon be followed
        by another one. Returns why there was nothing to do, if so.
        """
        idle = False
        while True:
            seen, started = _commits(self._upstream), time.monotonic()
            left_out = run()
            if self._services.trigger.stops:
                return left_out
            ended = time.monotonic()
            soon = cheap() if left_out is None else not each_time
            pause = self._pause(ended - started if soon else math.inf)
            if left_out is None or not idle:
                reason, idle = f"runs again in {pause:.1f} s at the earliest", True
                self._services.reporter.flow(self._stage.flow, FlowStatus.IDLE, reason=reason)
            due = ended + pause
            while time.monotonic() < due or not (each_time or _commits(self._upstream) != seen):
                if self._services.stop.wait(_POLL_SECONDS):
                    raise Stopped


def _commits(tables: Iterable[TableProgress]) -> int:
    return sum(table.commits for table in tables)

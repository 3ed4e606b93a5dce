"""Runs the flows of an update step by step: queries stay up, and each takes a batch when a test says so."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, fields
from typing import TypeVar

from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from penstock.config import Trigger
from penstock.errors import ConfigError, PenstockError
from penstock.graph.companions.lateness_counting import LatenessCounting
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import ResolvedFlow
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
from penstock.runtime.flows.board import UpdateBoard
from penstock.runtime.flows.schedule import FlowThread
from penstock.runtime.flows.services import FlowServices
from penstock.runtime.flows.snapshot_flow import SnapshotFlow
from penstock.spark.streams.held_query import HeldQuery
from penstock.testing.configuration import AT_ONCE
from penstock.testing.crash import newest_commit

_WAIT_SECONDS = 0.005

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Services(FlowServices):
    def trigger_of(self, flow: ResolvedFlow) -> Trigger:
        """A test says when a batch is due, whatever interval the flow declares."""
        return AT_ONCE

    def counts_lateness(self, flow: ResolvedFlow) -> LatenessCounting:
        """A test sees which rows are late, and not how late the others are."""
        return LatenessCounting.NEVER

    @classmethod
    def of(cls, services: FlowServices) -> _Services:
        return cls(**{each.name: getattr(services, each.name) for each in fields(FlowServices)})


@dataclass(slots=True)
class _Stream:
    """A streaming flow: its thread, and its query while it is held."""

    stage: RunStreamingFlow | RunSinkFlow
    name: str
    thread: threading.Thread
    held: HeldQuery | None = None


@dataclass(slots=True)
class _Batch:
    """A flow without a query: the refresh of a materialized view, a once-flow, snapshots.

    `on_demand` leaves it until its table is read: a refresh takes longer than the batch of a query.
    """

    stage: FlowStage
    run: Callable[[], str | None]
    once: bool = False
    on_demand: bool = False
    due: bool = True

    def take(self, board: UpdateBoard) -> None:
        if not self.due:
            return
        self.due = not self.once and not self.on_demand
        try:
            self.run()
        except PenstockError as error:
            board.failed(error)


class SteppedFlows:
    """Is handed to `run_update` as its way to run flows, in the update's thread; a test's thread calls the others."""

    def __init__(self, clock: int | None = None) -> None:
        self.clock = clock
        self.services: FlowServices | None = None
        self._commands: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._started: Future[None] = Future()
        self._flows: list[_Stream | _Batch] = []
        self._raised = 0  # how many of the board's errors were raised

    # ---- of the test's thread ----

    def await_start(self) -> None:
        """Returns when all queries are up and held.

        Raises:
            PenstockError: what kept the update or a flow from starting.
        """
        self._started.result()

    def step(self, publish: Callable[[], None]) -> None:
        """Calls `publish`, and then has each flow take what is there, those first that others read.

        Raises:
            PenstockError: the first flow that failed; those that do not read it have taken their rows.
        """
        self._call(lambda: self._step(publish))

    def refresh(self) -> None:
        """Refreshes the materialized views, those of which something has changed since; raises as `step`."""
        if any(isinstance(each, _Batch) and each.on_demand and each.due for each in self._flows):
            self._call(self._refresh)

    def move_watermark(self, target: Identifier, milliseconds: int) -> None:
        """Moves the watermark of the flows into `target`; the next step closes what it has passed."""
        self._call(lambda: self._move_watermark(target, milliseconds))

    def set_clock(self, milliseconds: int) -> None:
        """Sets the time, in milliseconds since 1970, that queries take for now from their next batch on."""
        self._call(lambda: self._set_clock(milliseconds))

    def watermarks(self) -> dict[Identifier, int]:
        """Returns the watermark of each streaming flow's target, in milliseconds since 1970."""
        streams = self._streams()
        return self._call(lambda: {each.stage.dataset: each.held.watermark() for each in streams if each.held})

    def newest_commits(self) -> dict[str, int | None]:
        """Returns the newest batch that each checkpoint of a streaming flow knows as done."""
        assert self.services is not None
        layout, stages = self.services.layout, [each.stage for each in self._streams()]
        checkpoints = [layout.checkpoint(each.dataset, each.flow.declaration.name, each.generation) for each in stages]
        return {checkpoint: newest_commit(checkpoint) for checkpoint in checkpoints}

    def end(self) -> None:
        """Lets the update end, as it would end after a signal; `run_update` returns a moment later."""
        self._commands.put(None)

    def has_ended(self, error: BaseException | None) -> None:
        """The update has ended: no call is answered any more."""
        if not self._started.done():
            self._started.set_exception(error or RuntimeError("the update ended before its flows ran"))

    def _call(self, function: Callable[[], Result]) -> Result:
        answer: Future[Result] = Future()

        def run() -> None:
            try:
                answer.set_result(function())
            except BaseException as error:  # noqa: BLE001 - raised where the call was made
                answer.set_exception(error)

        self._commands.put(run)
        return answer.result()

    # ---- of the update's thread ----

    def run(self, stages: tuple[FlowStage, ...], services: FlowServices) -> None:
        """Called by `run_update`: runs what it is given until `end`."""
        self.services = services = _Services.of(services)
        order = {identifier: position for position, identifier in enumerate(services.graph.order)}
        streamed = {table for stage in stages if isinstance(stage, StreamingStage) for table in stage.after}
        for stage in sorted(stages, key=lambda each: order.get(each.dataset, len(order))):
            self._flows.append(self._flow(stage, services, streamed))
        try:
            self._start()
            while (command := self._commands.get()) is not None:
                command()
        finally:
            for stream in self._streams():
                if stream.held is not None:
                    stream.held.release()
            services.stop.set()
            for stream in self._streams():
                stream.thread.join()

    @staticmethod
    def _flow(stage: FlowStage, services: FlowServices, streamed: set[Identifier]) -> _Stream | _Batch:
        match stage:
            case RunStreamingFlow() | RunSinkFlow():
                thread = FlowThread(stage, services, None)
                return _Stream(stage, f"{services.pipeline}/{stage.dataset}/{stage.flow.declaration.name}", thread)
            case RefreshMaterializedView():
                return _Batch(stage, BatchFlow(stage, services).run, on_demand=stage.dataset not in streamed)
            case RunOnceFlow():
                return _Batch(stage, BatchFlow(stage, services).run, once=True)
            case RunSnapshotFlow():
                return _Batch(stage, SnapshotFlow(stage, services).run)
        raise AssertionError(stage)

    def _start(self) -> None:
        try:
            for stream in self._streams():
                stream.thread.start()
            for stream in self._streams():
                self._hold(stream)
            self._raise_new_errors()
        except BaseException as error:
            self._started.set_exception(error)
            raise
        self._started.set_result(None)

    def _step(self, publish: Callable[[], None]) -> None:
        publish()
        for flow in self._flows:
            if isinstance(flow, _Stream):
                self._take(flow)
            elif flow.on_demand:
                flow.due = True
            else:
                flow.take(self._board)
        self._raise_new_errors()

    def _refresh(self) -> None:
        for flow in self._flows:
            if isinstance(flow, _Batch) and flow.on_demand:
                flow.take(self._board)
        self._raise_new_errors()

    def _take(self, stream: _Stream) -> None:
        """Lets the flow take what is there; a query that ends and is started again goes on where it ended."""
        while self._hold(stream):
            assert stream.held is not None
            try:
                stream.held.take_all()
                if stream.held.is_active:
                    return
            except PySparkException:
                pass  # the flow's thread says what it is, or starts the query again
            stream.held.release()

    def _hold(self, stream: _Stream) -> bool:
        """Has the running query of the flow held; False when the flow has ended."""
        last = stream.held
        if last is not None and last.is_active:
            return True
        services = self.services
        assert services is not None
        while stream.thread.is_alive():
            query = self._running(stream.name)
            if query is not None and (last is None or str(query.runId) != last.run_id):
                stream.held = HeldQuery(query, services.spark)
                if self.clock is not None:
                    stream.held.set_clock(self.clock)
                return True
            stream.thread.join(_WAIT_SECONDS)
        stream.held = None
        return False

    def _running(self, name: str) -> StreamingQuery | None:
        assert self.services is not None
        return next((each for each in self.services.spark.streams.active if each.name == name), None)

    def _move_watermark(self, target: Identifier, milliseconds: int) -> None:
        for stream in self._streams():
            if stream.stage.dataset == target and self._hold(stream) and stream.stage.flow.watermark is not None:
                assert stream.held is not None
                if not stream.held.has_run():
                    raise ConfigError("TEST_WATERMARK_NOT_STARTED", name=target)
                stream.held.move_watermark(milliseconds)

    def _set_clock(self, milliseconds: int) -> None:
        self.clock = milliseconds
        for stream in self._streams():
            if stream.held is not None:
                stream.held.set_clock(milliseconds)

    def _streams(self) -> list[_Stream]:
        return [each for each in self._flows if isinstance(each, _Stream)]

    @property
    def _board(self) -> UpdateBoard:
        assert self.services is not None
        return self.services.board

    def _raise_new_errors(self) -> None:
        errors = self._board.errors
        new, self._raised = errors[self._raised :], len(errors)
        if new:
            raise new[0]

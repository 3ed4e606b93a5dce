"""The threads of an update's flows, and what ends the update when one of them ends by itself."""

from __future__ import annotations

import errno
import threading
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.errors import ExternalError, PenstockError
from penstock.events import FlowStatus
from penstock.graph.identifier import Identifier
from penstock.runtime.flows import schedule
from penstock.runtime.flows.board import UpdateBoard
from penstock.runtime.flows.schedule import FlowThread, run_flows
from penstock.runtime.flows.services import FlowServices

A, B = Identifier("shop", "a"), Identifier("shop", "b")


def stage(dataset: Identifier) -> Any:
    return SimpleNamespace(dataset=dataset, after=(), flow=dataset)


class Log:
    """Where flows report; those of `failing` cannot."""

    def __init__(self, failing: dict[tuple[Identifier, FlowStatus], BaseException] | None = None) -> None:
        self.failing = failing or {}
        self.said: list[tuple[Identifier, FlowStatus, str | None]] = []

    def flow(self, flow: Any, status: FlowStatus, *, reason: str | None = None, error: Any = None) -> None:
        if (flow, status) in self.failing:
            raise self.failing[flow, status]
        self.said.append((flow, status, error and error.condition))


def services_with(log: Log, check: Any = lambda: None) -> FlowServices:
    made = SimpleNamespace(
        spark=None,
        board=UpdateBoard(dict(Counter([A, B]))),
        reporter=log,
        trigger=SimpleNamespace(stops=True),
        stop=threading.Event(),
        abandon=threading.Event(),
        check=check,
    )
    return cast("FlowServices", made)


def until_stopped(flow: FlowThread) -> None:
    """A flow that goes on until the update stops."""
    if flow._stage.dataset == A:
        assert flow._services.stop.wait(10)


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FlowThread, "_run_stage", until_stopped)


@pytest.mark.parametrize("failure", [OSError(errno.EMFILE, "Too many open files"), MemoryError(), SystemExit(3)])
@pytest.mark.usefixtures("endless")
def test_a_flow_whose_end_cannot_be_recorded_ends_the_update(failure: BaseException) -> None:
    services = services_with(Log({(B, FlowStatus.COMPLETED): failure}))
    with pytest.raises(type(failure)):
        run_flows([stage(A), stage(B)], services)
    assert services.abandon.is_set()
    assert services.board.table(B).failed
    assert services.board.table(A).ended.is_set()


@pytest.mark.usefixtures("endless")
def test_a_thread_that_dies_before_the_flows_own_code_ends_the_update(monkeypatch: pytest.MonkeyPatch) -> None:
    started = FlowThread._run_flow

    def die(flow: FlowThread) -> None:
        if flow._stage.dataset == B:
            raise RuntimeError("no connection to the JVM")
        started(flow)

    monkeypatch.setattr(FlowThread, "_run_flow", die)
    services = services_with(Log())
    with pytest.raises(RuntimeError, match="no connection"):
        run_flows([stage(A), stage(B)], services)
    assert services.board.table(B).failed


@pytest.mark.usefixtures("endless")
def test_a_thread_that_cannot_be_started_ends_those_that_could(monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == f"flow {B}":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    services = services_with(Log())
    with pytest.raises(RuntimeError, match="can't start"):
        run_flows([stage(A), stage(B)], services)
    assert services.board.table(A).ended.is_set()


def test_a_flow_that_meets_exhaustion_fails_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: FlowThread) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(FlowThread, "_run_stage", fail)
    log = Log()
    services = services_with(log)
    run_flows([stage(A)], services)
    assert log.said[-1] == (A, FlowStatus.FAILED, "OPEN_FILES_EXHAUSTED")
    assert [error.condition for error in services.board.errors] == ["OPEN_FILES_EXHAUSTED"]


@pytest.mark.usefixtures("endless")
def test_what_all_flows_need_ends_the_update(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost() -> None:
        raise ExternalError("STORAGE_LOCK_NOT_RENEWED", storage="x", reason="y")

    services = services_with(Log(), lost)
    with pytest.raises(PenstockError, match="STORAGE_LOCK_NOT_RENEWED"):
        run_flows([stage(A)], services)
    assert services.abandon.is_set()


def test_a_jvm_that_does_not_let_an_abandoned_flow_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    killed = threading.Event()
    monkeypatch.setattr(schedule, "_ABANDON_SECONDS", 0.1)
    monkeypatch.setattr(schedule, "kill_children", killed.set)
    monkeypatch.setattr(FlowThread, "_run_stage", lambda _: killed.wait(10) and None)
    services = services_with(Log())
    services.abandon.set()
    run_flows([stage(A)], services)
    assert killed.is_set()

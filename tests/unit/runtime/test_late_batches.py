"""Which batches are looked at for late rows when a flow starts, as far as the log tells."""

from __future__ import annotations

import math
import threading
from types import SimpleNamespace
from typing import Any, cast

from tests.unit.observe.story import Story

from penstock.events import BatchProgress, CheckpointedBatch, EventType, FlowStatus, LateRows, builders
from penstock.runtime.flows.late.late_rows import LateRowRecorder, open_batches

FLOW = ("shop.hours", "hours")
QUERY = "5e0c"


class Told(Story):
    def is_now(self, status: FlowStatus, flow: tuple[str, str] = FLOW) -> Told:
        self.say(EventType.FLOW_PROGRESS, builders.flow_status("hours", status), dataset=flow[0], flow=flow[1])
        return self

    def wrote(self, batch: int, late: int | None = None, query: str = QUERY, flow: tuple[str, str] = FLOW) -> Told:
        progress = BatchProgress(batch, 10, 10, late_rows=late)
        built = builders.flow_batch("hours", progress, checkpointed=CheckpointedBatch(query, {}))
        self.say(EventType.FLOW_PROGRESS, built, dataset=flow[0], flow=flow[1])
        return self

    def late(self, batch: int, kept: int | None = 1, query: str = QUERY) -> Told:
        late = LateRows(query, batch, 1, kept, "shop.hours__late")
        self.say(EventType.LATE_ROWS, builders.late_rows("hours", late), dataset=FLOW[0], flow=FLOW[1])
        return self

    def open(self, *finished: int) -> dict[int, int | None]:
        return open_batches(self.events, FLOW, QUERY, finished)


def test_a_flow_that_ended_has_left_nothing() -> None:
    story = Told().is_now(FlowStatus.RUNNING).wrote(0).wrote(1, 2).late(1).wrote(2).is_now(FlowStatus.COMPLETED)
    assert story.is_now(FlowStatus.QUEUED).is_now(FlowStatus.STARTING).open(0, 1, 2) == {}
    assert Told().open(0, 1, 2) == {}, "nobody knows, and nothing says that a process was killed"


def test_late_rows_that_were_counted_and_not_kept_are_looked_for() -> None:
    story = Told().is_now(FlowStatus.RUNNING).wrote(3, 1).late(3).wrote(4, 2).wrote(5).wrote(6, 7)
    assert story.is_now(FlowStatus.FAILED).open(3, 4, 5, 6) == {4: 2, 6: 7}
    assert story.open(5, 6) == {6: 7}, "the checkpoint has forgotten batch 4"
    assert story.late(4, kept=None).open(3, 4, 5, 6) == {6: 7}, "what could not be kept once is not tried again"


def test_a_killed_process_may_not_have_told_of_its_last_batches() -> None:
    story = Told().is_now(FlowStatus.RUNNING).wrote(7).wrote(8, 1)
    story.is_now(FlowStatus.QUEUED).is_now(FlowStatus.STARTING)
    assert story.open(7, 8, 9, 10) == {8: 1, 9: None, 10: None}
    assert story.late(9).open(7, 8, 9, 10) == {10: None}


def test_one_that_was_killed_before_it_told_of_any_batch() -> None:
    undelivered = Told().is_now(FlowStatus.RUNNING)
    assert undelivered.open(0, 1, 2) == {0: None, 1: None, 2: None}
    assert [*undelivered.open(*range(100))] == [*range(80, 100)], "the others have their events further back"


def test_nor_may_one_whose_jvm_was_killed() -> None:
    story = Told().is_now(FlowStatus.RUNNING).wrote(6).is_now(FlowStatus.FAILED)
    story.is_now(FlowStatus.QUEUED).is_now(FlowStatus.STARTING)
    assert story.open(6, 7) == {7: None}
    assert story.open(6) == {}


def test_other_flows_and_former_checkpoints_do_not_count() -> None:
    story = Told().is_now(FlowStatus.RUNNING).wrote(50, 3, query="before").late(50, query="before")
    story.is_now(FlowStatus.RUNNING).wrote(0).wrote(1, 4, flow=("shop.hours", "other"))
    story.is_now(FlowStatus.COMPLETED, flow=("shop.hours", "other"))
    assert story.open(0, 1) == {1: None}
    assert Told().wrote(1, 2, flow=("SHOP.Hours", "HOURS")).open(1) == {1: 2}


class Kept(LateRowRecorder):
    """A recorder whose batches 4, 6 and 7 have a late row; writing that of 6 is when the update is asked to stop."""

    def __init__(self) -> None:
        self.services = SimpleNamespace(
            abandon=threading.Event(),
            stop=threading.Event(),
            reporter=SimpleNamespace(late_rows=lambda _, late: self.batches.append(late.batch_id)),
        )
        super().__init__(cast("Any", SimpleNamespace(flow=None)), cast("Any", self.services), "checkpoint")
        self.batches: list[int] = []
        for batch in (6, 4, 7):
            self.notice({"batchId": batch, "stateOperators": [{"numRowsDroppedByWatermark": 1}]})

    def _tried(self, batch: int, counted: int | None) -> LateRows:
        if batch == 6:
            self.services.stop.set()
        return LateRows(QUERY, batch, counted, 1, "shop.hours__late")


def test_a_stop_need_not_wait_for_late_rows_which_the_next_start_writes() -> None:
    recorder = Kept()
    recorder.keep()
    assert recorder.batches == [4, 6], "the oldest first, and batch 7 is left"
    recorder.keep(until=-math.inf)
    assert recorder.batches == [4, 6], "the time to stop is over"
    recorder.keep(until=math.inf)
    assert recorder.batches == [4, 6, 7]


def test_an_abandoned_update_writes_no_late_rows() -> None:
    recorder = Kept()
    recorder.services.abandon.set()
    recorder.keep(until=math.inf)
    assert recorder.batches == []

"""A failing flow is tried again, as often as it helps."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from penstock.config import RetrySettings
from penstock.errors import ExternalError, PenstockError, StateError
from penstock.runtime.retry import SAME_FAILURES, Stopped, run_with_retries

SETTINGS = RetrySettings(max_flow_retries=2, first_delay=0.001, longest_delay=0.003)


def failed(detail: str = "no answer") -> PenstockError:
    return ExternalError("FLOW_FAILED", dataset="shop.orders", flow="orders", detail=detail)


class Flow:
    """Fails with one error after the other, then ends; `batches` are those done before each failure."""

    def __init__(self, *errors: PenstockError, batches: int = 0, seconds: float = 1.0) -> None:
        self.errors, self.batches, self.seconds = list(errors), batches, seconds
        self.done, self.now = 0, 0.0
        self.pauses: list[float] = []

    def attempt(self) -> None:
        self.done += self.batches
        self.now += self.seconds
        if self.errors:
            raise self.errors.pop(0)

    def run(self, stop: threading.Event | None = None, on_retry: Callable[[], None] = lambda: None) -> None:
        def note(_: PenstockError, pause: float) -> None:
            self.pauses.append(pause)
            on_retry()

        run_with_retries(
            self.attempt,
            settings=SETTINGS,
            stop=stop or threading.Event(),
            on_retry=note,
            committed=lambda: self.done,
            clock=lambda: self.now,
        )


def test_pauses_grow_up_to_the_longest() -> None:
    flow = Flow(failed(), failed())
    flow.run()
    assert flow.pauses == [0.001, 0.002]


def test_three_failures_in_a_row_are_enough() -> None:
    flow = Flow(*(failed() for _ in range(9)))
    with pytest.raises(ExternalError, match="FLOW_FAILED"):
        flow.run()
    assert len(flow.errors) == 6


def test_what_does_not_pass_is_not_tried_again() -> None:
    flow = Flow(StateError("CHECKPOINT_LOST", flow="orders", name="shop.orders", path="/c"))
    with pytest.raises(StateError):
        flow.run()
    assert flow.pauses == []


def test_a_batch_in_between_begins_a_new_row() -> None:
    flow = Flow(*(failed(f"broker {number} away") for number in range(SAME_FAILURES - 1)), batches=1)
    flow.run()
    assert set(flow.pauses) == {0.001}


def test_the_same_failure_again_and_again_is_a_loop() -> None:
    flow = Flow(*(failed(f"task {number} of stage 7 lost") for number in range(50)), batches=1)
    with pytest.raises(ExternalError) as raised:
        flow.run()
    error = raised.value
    assert (error.condition, error.exit_code, error.retryable) == ("FLOW_CRASH_LOOP", 1, False)
    assert error.dataset == "shop.orders"
    assert f"{SAME_FAILURES} times" in error.message
    assert "task 9 of stage 7 lost" in error.message
    assert len(flow.pauses) == SAME_FAILURES - 1


def test_failures_that_are_rare_or_differ_are_none() -> None:
    Flow(*(failed() for _ in range(50)), batches=1, seconds=600).run()
    details = ("no answer", "no room", "no luck", "no key", "no way", "no end")
    Flow(*(failed(detail) for detail in details * (SAME_FAILURES - 1)), batches=1).run()


def test_a_pause_ends_when_the_update_shall_stop() -> None:
    stop = threading.Event()
    with pytest.raises(Stopped):
        Flow(failed()).run(stop, stop.set)

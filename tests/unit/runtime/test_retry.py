"""A failing flow is tried again, as often as it helps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from penstock.config import RetrySettings
from penstock.errors import ExternalError, PenstockError, StateError
from penstock.runtime.flows.retry import JITTER, SAME_FAILURES, Stopped, run_with_retries

SETTINGS = RetrySettings(max_flow_retries=2, first_delay=5, longest_delay=12)
PATIENT = replace(SETTINGS, max_flow_retries=None, longest_delay=60)


def failed(detail: str = "no answer") -> PenstockError:
    return ExternalError("FLOW_FAILED", dataset="shop.orders", flow="orders", detail=detail)


def away(detail: str = "gone") -> PenstockError:
    return ExternalError("KAFKA_LOST", dataset="shop.orders", detail=detail)


class Clock(threading.Event):
    """A stop signal which lets the time that somebody waits for it pass at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.now += timeout
        return self.is_set()


class Flow:
    """Fails with one error after the other, then ends; `batches` are those done before each failure."""

    def __init__(
        self,
        *errors: PenstockError,
        batches: int = 0,
        seconds: float = 1.0,
        settings: RetrySettings = SETTINGS,
        continuous: bool = False,
        chance: Iterable[float] = (),
    ) -> None:
        self.errors, self.batches, self.seconds = list(errors), batches, seconds
        self.settings, self.continuous, self.chance = settings, continuous, iter(chance)
        self.done, self.clock = 0, Clock()
        self.pauses: list[float] = []

    def attempt(self) -> None:
        self.done += self.batches
        self.clock.now += self.seconds
        if self.errors:
            raise self.errors.pop(0)

    def run(self, on_retry: Callable[[], None] = lambda: None) -> None:
        def note(_: PenstockError, pause: float) -> None:
            self.pauses.append(pause)
            on_retry()

        run_with_retries(
            self.attempt,
            settings=self.settings,
            continuous=self.continuous,
            stop=self.clock,
            on_retry=note,
            committed=lambda: self.done,
            clock=lambda: self.clock.now,
            chance=lambda: next(self.chance, 0),
        )


def test_pauses_grow_up_to_the_longest() -> None:
    flow = Flow(*(away() for _ in range(7)), settings=replace(PATIENT, max_flow_retries=9))
    flow.run()
    assert flow.pauses == [5, 10, 20, 40, 60, 60, 60]
    assert flow.clock.now == sum(flow.pauses) + 8


def test_pauses_are_not_all_alike() -> None:
    flow = Flow(failed(), failed(), chance=(1, 0.5))
    flow.run()
    assert flow.pauses == [5 * (1 - JITTER), 10 * (1 - JITTER / 2)]


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
    assert set(flow.pauses) == {5}


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
    flow = Flow(failed())
    with pytest.raises(Stopped):
        flow.run(flow.clock.set)


def test_a_service_that_is_away_is_waited_for_in_a_continuous_update() -> None:
    for batches in (0, 1):  # with a batch in between it is no crash loop either
        flow = Flow(*(away() for _ in range(3000)), batches=batches, settings=PATIENT, continuous=True)
        flow.run()
        assert flow.errors == []
        assert max(flow.pauses) == (5 if batches else 60)
    flow = Flow(away(), settings=PATIENT, continuous=True)
    with pytest.raises(Stopped):
        flow.run(flow.clock.set)


@pytest.mark.parametrize(
    ("settings", "continuous", "error"),
    [
        (PATIENT, False, away),  # a triggered update ends
        (replace(PATIENT, max_flow_retries=2), True, away),  # the user has said how often
        (PATIENT, True, failed),  # nothing says that waiting helps
    ],
)
def test_other_failures_have_a_limit(
    settings: RetrySettings, continuous: bool, error: Callable[[], PenstockError]
) -> None:
    flow = Flow(*(error() for _ in range(9)), settings=settings, continuous=continuous)
    with pytest.raises(ExternalError, match=error().condition):
        flow.run()
    assert len(flow.pauses) == 2
    crashing = Flow(*(error() for _ in range(50)), batches=1, settings=settings, continuous=continuous)
    with pytest.raises(ExternalError, match="FLOW_CRASH_LOOP"):
        crashing.run()


def test_waiting_for_a_service_leaves_other_failures_their_tries() -> None:
    flow = Flow(*(away() for _ in range(40)), failed(), failed(), settings=PATIENT, continuous=True)
    flow.run()
    assert flow.pauses[-2:] == [5, 10]

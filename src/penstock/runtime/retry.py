"""Tries a flow again after an error that can pass, with growing pauses."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from penstock.config import RetrySettings
from penstock.errors import PenstockError


class Stopped(BaseException):
    """The update was asked to stop; not an error, and not for a user's `except Exception`."""


def run_with_retries(
    attempt: Callable[[], None],
    *,
    settings: RetrySettings,
    stop: threading.Event,
    on_retry: Callable[[PenstockError, float], None],
) -> None:
    """Calls `attempt` until it returns or fails for good.

    `attempt` raises PenstockErrors only; those that the catalogue marks as retryable are tried
    again `max_flow_retries` times. `on_retry` is told the error and the pause in seconds.

    Raises:
        PenstockError: the last error.
        Stopped: `stop` was set during a pause.
    """

    def pause(seconds: float) -> None:
        if stop.wait(seconds):
            raise Stopped

    Retrying(
        retry=retry_if_exception(lambda error: isinstance(error, PenstockError) and error.retryable),
        stop=stop_after_attempt(settings.max_flow_retries + 1),
        wait=wait_exponential(multiplier=settings.first_delay, min=settings.first_delay, max=settings.longest_delay),
        sleep=pause,
        before_sleep=lambda state: on_retry(
            state.outcome.exception(),  # type: ignore[union-attr, arg-type]
            state.next_action.sleep,  # type: ignore[union-attr]
        ),
        reraise=True,
    )(attempt)

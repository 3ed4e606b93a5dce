"""The end of a streaming query that loses no work."""

from __future__ import annotations

import threading
import time

from pyspark.sql.streaming.query import StreamingQuery

_POLL_SECONDS = 0.1
_SHARE_OF_BATCH = 0.8
"""Of the time to stop; the rest is for the end itself."""


def deadline_of_batch(timeout: float) -> float:
    """Until when, by `time.monotonic`, a stop that may take `timeout` seconds and begins now lets flows work."""
    return time.monotonic() + timeout * _SHARE_OF_BATCH


def stop_after_batch(query: StreamingQuery, *, abandon: threading.Event, deadline: float) -> None:
    """Lets the current batch commit, if it does before `deadline` (`deadline_of_batch`); any other is replayed later.

    `abandon` set, from any thread, stops the query at once.
    """
    last = _batch_of(query)
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
        if _batch_of(query) != last or abandon.is_set():
            break
        time.sleep(_POLL_SECONDS)
    query.stop()


def _batch_of(query: StreamingQuery) -> int | None:
    last = query.lastProgress
    return None if last is None else int(last["batchId"])

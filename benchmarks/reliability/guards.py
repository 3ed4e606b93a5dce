"""How much of a flow's time goes into what guards it: fingerprint, checks of the checkpoint, accounts of each batch."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


class _Stopwatch:
    """Adds up the time of the functions that it is put around; not of two at the same moment."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, place: object, name: str) -> None:
        """Puts itself around `place.name`; an iterator that this returns is read to its end at once."""
        original: Callable[..., Any] = getattr(place, name)

        def timed(*arguments: Any, **named: Any) -> Any:
            started = time.perf_counter()
            try:
                found = original(*arguments, **named)
                return iter(list(found)) if hasattr(found, "__next__") else found
            finally:
                self.seconds += time.perf_counter() - started

        setattr(place, name, timed)


def share_of_guards(project: Path, batches: int, repeat: int) -> list[float]:
    """Returns, for each of `repeat` runs of `batches` batches, guards' time divided by that of the batches."""
    from benchmarks.session import start_session, stop_session
    from penstock.analysis import query
    from penstock.config import load_project
    from penstock.events import Event
    from penstock.plan import planner
    from penstock.plan.selection import RefreshSelection
    from penstock.runtime import run_update
    from penstock.runtime.flows import streaming_flow
    from penstock.runtime.flows.accounting import StreamAccounts
    from penstock.runtime.storage_state.checkpoint_checks import CheckpointChecks
    from penstock.spark.session.launch import SessionConfig

    watch = _Stopwatch()
    for place, name in (
        (query, "stream_definition"),
        (planner, "guard_stream"),
        (CheckpointChecks, "found"),
        (streaming_flow.StreamingFlow, "_check_sources"),
        (StreamAccounts, "draw_up"),
        (streaming_flow, "report_accounts"),
    ):
        watch.around(place, name)
    config = load_project(project).with_run_options(continuous=True, trigger=None)
    spark = start_session(SessionConfig("reliability", python_roots=(project,)))
    shares = []
    for turn in range(repeat + 1):
        took: list[float] = []
        stop = threading.Event()

        def seen(event: Event, took: list[float] = took, stop: threading.Event = stop) -> None:
            metrics = event.details.get("flow_progress", {}).get("metrics")
            if metrics is not None:
                took.append(metrics["batch_duration_ms"] / 1000)
                if len(took) >= batches:
                    stop.set()

        watch.seconds = 0.0
        outcome = run_update(config, RefreshSelection(), spark=spark, on_event=seen, stop=stop)
        if outcome.errors:
            raise SystemExit(str(outcome.errors[0]))
        if turn:  # the first run warms the compiler up
            shares.append(watch.seconds / sum(took))
    stop_session(spark)
    return shares

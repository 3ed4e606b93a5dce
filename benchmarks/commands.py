"""Commands of Penstock, as a benchmark runs them: in processes of their own, or on the shared session."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from benchmarks.session import is_shared, shared_session
from penstock.config import PipelineConfig, load_project
from penstock.plan.selection import RefreshSelection
from penstock.runtime import plan_update, run_update, validate

PENSTOCK: Final = (sys.executable, "-m", "penstock.cli")
_PATIENCE: Final = 3600.0


def penstock(*arguments: str, expected: Sequence[int] = (0,)) -> float:
    """Runs a command to its end and returns its seconds; another exit code ends the benchmark."""
    started = time.monotonic()
    done = subprocess.run([*PENSTOCK, *arguments], check=False, capture_output=True, text=True, timeout=_PATIENCE)
    seconds = time.monotonic() - started
    if done.returncode not in expected:
        raise SystemExit(f"penstock {' '.join(arguments)} ended with {done.returncode}\n{done.stderr[-3000:]}")
    return seconds


def with_spark(
    command: Literal["plan", "run", "validate"], project: Path, overrides: Mapping[str, str] | None = None
) -> float:
    """Runs a command that needs Spark as `penstock` does; with a shared session, as a function of this process.

    `overrides` are what `--set` sets.
    """
    if not is_shared():
        settings = [f"--set={key}={value}" for key, value in (overrides or {}).items()]
        return penstock(command, str(project), *settings)
    started = time.monotonic()
    if errors := _call(command, load_project(project, overrides=overrides)):
        raise SystemExit(f"{command} of {project}: {errors[0]}")
    return time.monotonic() - started


def _call(command: Literal["plan", "run", "validate"], config: PipelineConfig) -> Sequence[Exception]:
    spark = shared_session()
    if command == "validate":
        return validate(config, spark=spark).errors
    if command == "run":
        return run_update(config, RefreshSelection(), spark=spark).errors
    plan_update(config, RefreshSelection(), spark=spark)
    return ()


@contextmanager
def continuous_here(project: Path, overrides: Mapping[str, str] | None = None) -> Iterator[Callable[[], bool]]:
    """A continuous run on the shared session, which is stopped at the end; gives whether it still goes on.

    `overrides` are what `--set` sets.
    """
    config = load_project(project, overrides=overrides).with_run_options(continuous=True, trigger=None)
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        update = pool.submit(run_update, config, RefreshSelection(), spark=shared_session(), stop=stop)
        try:
            yield lambda: not update.done()
        finally:
            stop.set()
            if errors := update.result().errors:  # also the reason if what waited for the run has given up
                raise SystemExit(str(errors[0]))

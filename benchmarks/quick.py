"""All benchmarks in a tiny size, in one process: shows that they work, and says nothing about speed.

Most of a small benchmark is the start of Spark, so those that need a session share one; Java and Spark compile less.
"""

from __future__ import annotations

import importlib
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from unittest import mock

import psutil
from tests.short_lived_jvms import start_them_quickly

from benchmarks.session import share_session

_RESULTS: Final = Path(__file__).parent.parent / ".bench" / "quick"
_SIZES: Final = {
    "accelerators": "hadoop_conf known_state json_inference --turns 1 --tables 10 --batches 2 --files 5 --rows 400",
    "auto_loader": "--files 100 --batches 1 --rows 1000 --row-files 4 --repeat 1 --warm-up 0",
    "cdc": "--rows 2000 --changes 200 --batches 1 --warm-up 0",
    "orders": "--rows 1000 --files 2 --systems hand-written-tuned,penstock",
    "startup": "--tables 10 --repeat 1 --warm-up 0",
    "expectations": "--rows 1600 --batches 2 --repeat 1 --warm-up 0",
    "reliability": "--repeat 1 --tables 2 --versions 6 --batches 3 --warm-up 1",
    "jdbc": "--rows 2000 --changes 200 --batches 1 --warm-up 0",
    "update": "--rows 4000 --changes 200 --batches 1 --warm-up 0 --places newest",
    "testkit": "--steps 3 --warm-up 0",
    "refresh": "--rows 2000 --repeat 1",
    "stateful": "--rows 1000 --batches 2 --repeat 1 --warm-up 0",
    "kafka": "--seconds 2 --rate 100 --warm-up 1 --backlog 200",
    "kinesis": "--megabytes 1 --shards 2",
    "dashboard": "--megabytes 8 --tables 20 --viewers 2 --seconds 1 --datasets 80 --repeat 1",
    "event_log": "--batches 1 --warm-up 1 --rows 100",
    "lateness": "--rows 200 --late 0.01 --format json --sample-every 1",
    "cost": "--seconds 8 --rows 20 --recorded-trigger 1 --trigger 2 --recorded-every 3 --every 4 --warm-up 1",
    "messages": "--rows 1000 --repeat 1 --warm-up 0",
    "profile": "--rows 1000 --files 2",
    "places": "--batches 1 --warm-up 0 --starts 0 --places disk",
    "serve": "--rows 1000 --clients 2 --repeat 1",
    "registration": "--tables 3 --repeat 1",
    "incremental": "--rows 1000 --repeat 1 --shares 0.1",
}


def main(names: Sequence[str]) -> int:
    """Runs the named benchmarks, all without a name; returns 1 if one fails, and says what each took."""
    start_them_quickly()
    share_session()
    failed, table = [], []
    for name in names or _SIZES:
        print(f"-- {name} {_SIZES[name]}", flush=True)
        clock, processor = time.monotonic(), _processor_seconds()
        if (problem := _run(name)) is not None:
            failed.append(f"{name}: {problem}")
        table.append((name, _processor_seconds() - processor, time.monotonic() - clock))
    table.append(("all", sum(row[1] for row in table), sum(row[2] for row in table)))
    print(f"{'benchmark':12} {'processor s':>12} {'wall s':>8}")
    for name, used, took in table:
        print(f"{name:12} {used:12.1f} {took:8.1f}")
    print("\n".join(["failed:", *failed]) if failed else "all passed", flush=True)
    return 1 if failed else 0


def _run(name: str) -> str | None:
    """Runs a benchmark as its command line would; returns what went wrong."""
    before = set(_RESULTS.glob(f"{name}-*.json"))
    with mock.patch.object(sys, "argv", [name, *_SIZES[name].split(), "--results", str(_RESULTS)]):
        try:
            code = importlib.import_module(f"benchmarks.{name}.__main__").main()
        except SystemExit as end:
            code = end.code
        except Exception:  # noqa: BLE001 - whatever it is, the others run
            traceback.print_exc()
            return "an exception, see above"
    if code not in (None, 0):
        return str(code)
    return None if set(_RESULTS.glob(f"{name}-*.json")) - before else "no result was written"


def _processor_seconds() -> float:
    """Returns user and system time of `run.py` and all below it; it is told of those that have ended."""
    root = psutil.Process().parent() or psutil.Process()
    return sum(sum(each.cpu_times()[:4]) for each in (root, *root.children(recursive=True)))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

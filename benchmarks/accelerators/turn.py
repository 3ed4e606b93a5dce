"""One turn of a benchmark, in a process of its own: `python -m benchmarks.accelerators.turn WORKLOAD NAME on|off …`.

Prints the seconds of the work, by the clock and of the processors, as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

from benchmarks.accelerators.workloads import WORKLOADS, Sizes
from benchmarks.session import start_session, stop_session
from penstock.spark.session.launch import SessionConfig

START = "start"
"""The workload that only starts and stops a session; its process is measured from outside."""


def main(workload: str, name: str, state: str, work: str, sizes: Sizes) -> None:
    spark = start_session(SessionConfig("accelerators", spark_conf={f"penstock.accelerators.{name}": state}))
    if workload != START:
        seconds, processor = measured(spark, workload, Path(work), sizes)
        print(json.dumps({"seconds": seconds, "processor_seconds": processor}))
    stop_session(spark)


def measured(spark: SparkSession, workload: str, work: Path, sizes: Sizes) -> tuple[float, float]:
    """Returns the seconds of the work by the clock, and of the processors in this process and in its JVM."""
    with (
        tempfile.TemporaryDirectory(prefix="accelerators-", dir=work) as folder,
        WORKLOADS[workload](spark, Path(folder), sizes) as do,
    ):
        clock, processor = time.monotonic(), _processor_seconds()
        do()
        return round(time.monotonic() - clock, 3), round(_processor_seconds() - processor, 2)


def _processor_seconds() -> float:
    own = psutil.Process()
    used = 0.0
    for process in (own, *own.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            used += times.user + times.system
    return used


if __name__ == "__main__":
    _, workload, name, state, work, *numbers = sys.argv
    main(workload, name, state, work, Sizes(*map(int, numbers)))

"""Java Flight Recorder in the JVM of a measured program: which methods ran, asked 50 times a second."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.measure import ProgramFailedError
from penstock.spark.session.setup.java import find_java

Stack = tuple[str, ...]
"""Methods as `package.Class.method`, the outermost first."""

_DEPTH = 256  # a plan is analysed in over 100 frames; a cut stack would lose who asked for it
_LONGEST_WAIT = 60.0


def environment(recording: Path) -> Mapping[str, str]:
    """Returns the environment in which the next JVM leaves its recording in that file when it ends."""
    flags = [
        "-XX:+UnlockDiagnosticVMOptions",
        "-XX:+DebugNonSafepoints",
    ]  # otherwise loops are charged to their callers
    flags.append(f"-XX:StartFlightRecording=filename={recording},settings=profile,dumponexit=true")
    flags.append(f"-XX:FlightRecorderOptions=stackdepth={_DEPTH}")
    return {"JDK_JAVA_OPTIONS": " ".join(flags)}


def stacks(recording: Path) -> Counter[Stack]:
    """Returns how often each stack of a running Java thread was seen."""
    _wait_for(recording)
    jfr = find_java().executable.resolve().with_name("jfr")
    show = [
        str(jfr),
        "print",
        "--json",
        "--events",
        "jdk.ExecutionSample",
        "--stack-depth",
        str(_DEPTH),
        str(recording),
    ]
    printed = subprocess.run(show, check=True, stdout=subprocess.PIPE, text=True).stdout
    events = json.loads(printed)["recording"]["events"]
    return Counter(_stack(event["values"]) for event in events if event["values"]["stackTrace"])


def _wait_for(recording: Path) -> None:
    """Waits until the file grows no more: the JVM writes it when it ends, which its parent does not wait for."""
    size, until = 0, time.monotonic() + _LONGEST_WAIT
    while time.monotonic() < until:
        time.sleep(1.0)
        before, size = size, recording.stat().st_size
        if 0 < before == size:
            return
    raise ProgramFailedError(f"no recording in {recording} after {_LONGEST_WAIT:.0f} s")


def _stack(values: Mapping[str, Any]) -> Stack:
    frames = reversed(values["stackTrace"]["frames"])
    return tuple(f"{each['method']['type']['name']}.{each['method']['name']}".replace("/", ".") for each in frames)

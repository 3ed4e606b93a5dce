"""What a benchmark leaves behind: one JSON file with its numbers, the machine, the versions and the command."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

FOLDER = Path(__file__).parent / "results"
DIRTY = "-dirty"
_PACKAGES = ("penstock", "pyspark", "delta-spark", "deltalake", "pyarrow")


def commit() -> str:
    """Returns the short name of the checked-out commit, with `DIRTY` behind it when tracked files are changed."""
    command = ["git", "describe", "--always", f"--dirty={DIRTY}"]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=FOLDER.parent).stdout.strip()


def write_result(benchmark: str, arguments: dict[str, Any], runs: list[dict[str, Any]], folder: Path = FOLDER) -> Path:
    """Writes the file and returns its path; its name holds the benchmark and the time, so none is overwritten."""
    now = datetime.now(UTC)
    document = {
        "benchmark": benchmark,
        "date": now.isoformat(timespec="seconds"),
        "command": f"python -m benchmarks.{benchmark} {' '.join(sys.argv[1:])}".strip(),
        "arguments": arguments,
        "commit": commit(),
        "host": _host(),
        "versions": _versions(),
        "runs": runs,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{benchmark}-{now:%Y%m%dT%H%M%S}.json"
    path.write_text(json.dumps(document, indent=2) + "\n")
    return path


def _host() -> dict[str, Any]:
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "load_before": round(os.getloadavg()[0], 2),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _versions() -> dict[str, str]:
    from penstock.spark.session.setup.java import find_java

    versions = {name: metadata.version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), "java": find_java().version, **versions}

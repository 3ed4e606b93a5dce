"""Servers that are Go modules, built once and kept in the user's cache."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.golang import go_command

from penstock.spark.session.setup.cache import cache_directory, one_process_at_a_time


@functools.cache
def go_program(package: str, version: str) -> Path:
    """Returns the program of a package of a Go module, after building it if it is not cached."""
    name = package.rpartition("/")[2]
    program = cache_directory() / f"{name}@{version}"
    with one_process_at_a_time(program.with_name(f"{program.name}.lock"), waiting=lambda: None):
        if not program.is_file():
            print(f"Building {program.name} (once)", file=sys.stderr)
            with tempfile.TemporaryDirectory(dir=program.parent) as folder:
                environ = {**os.environ, "GOBIN": folder, "CGO_ENABLED": "0"}
                quickly = ["-trimpath", "-ldflags=-s -w", "-gcflags=all=-N -l"]  # half of the compiler's time optimizes
                install = [go_command(), "install", *quickly, f"{package}@{version}"]
                subprocess.run(install, env=environ, check=True, stdout=subprocess.DEVNULL, timeout=1200)
                (Path(folder) / name).rename(program)
    return program

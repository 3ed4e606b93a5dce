"""Servers that are Go modules, built once and kept in the user's cache."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from penstock.spark.session.setup.cache import cache_directory, one_process_at_a_time


@functools.cache
def go_program(package: str, version: str) -> Path:
    """Returns the program of a package of a Go module, after building it if it is not cached.

    Without Go a test is skipped, except in CI.
    """
    name = f"{package.rpartition('/')[2]}@{version}"
    program = cache_directory() / name
    with one_process_at_a_time(program.with_name(f"{name}.lock"), waiting=lambda: None):
        if not program.is_file():
            go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
            if go is None and not os.environ.get("CI"):
                pytest.skip(f"no Go to build {name} with: on Debian, 'apt-get install golang-go' installs it")
            print(f"Building {name} (once)", file=sys.stderr)
            with tempfile.TemporaryDirectory(dir=program.parent) as folder:
                environ = {**os.environ, "GOBIN": folder, "CGO_ENABLED": "0"}
                install = [go or "go", "install", "-trimpath", "-ldflags=-s -w", f"{package}@{version}"]
                subprocess.run(install, env=environ, check=True, stdout=subprocess.DEVNULL, timeout=1200)
                (Path(folder) / package.rpartition("/")[2]).rename(program)
    return program

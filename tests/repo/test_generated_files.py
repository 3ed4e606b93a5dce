"""Files made by a tool are as the tool would make them now; locks name no host."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "tool", ["tools/generate_spark_defaults.py", "tools/generate_python_api.py", "tools/compile_java.py"]
)
def test_generated_pages(tool: str) -> None:
    done = subprocess.run([sys.executable, tool, "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0, f"run: python {tool}"


LOCKS = [
    "requirements.lock",
    "requirements-dev.lock",
    "requirements-docs.lock",
    "requirements-browser.lock",
    "requirements-go.lock",
]


@pytest.mark.parametrize("lock", LOCKS)
def test_requirements_are_pinned_and_hashed(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    entries = re.findall(r"^(\S+?)==\S+.*?\\\n((?:    --hash=sha256:[0-9a-f]{64}.*\n)+)", text, re.MULTILINE)
    named = re.findall(r"^[A-Za-z0-9].*$", text, re.MULTILINE)
    assert len(entries) == len(named) > 0


@pytest.mark.parametrize("lock", [*LOCKS, "src/penstock/spark/session/setup/jars.lock.json"])
def test_locks_name_no_host(lock: str) -> None:
    assert not re.search(r"https?://|--(extra-)?index-url|--find-links", (ROOT / lock).read_text(encoding="utf-8"))

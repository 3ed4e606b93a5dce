"""What a whole suite of faults has found, as JSON in `docs/evidence`; written only when FAULT_EVIDENCE is set."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

_ROOT = Path(__file__).resolve().parents[2]


def write_evidence(suite: str, findings: Mapping[str, Any]) -> Path | None:
    """Writes `findings` with the commit, the day and the machine; returns the file, None when nobody asked."""
    if not os.environ.get("FAULT_EVIDENCE"):
        return None
    document = {
        "suite": suite,
        **commit_now(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {
            "cores": os.cpu_count(),
            "memory_gib": round(psutil.virtual_memory().total / 2**30),
            "system": f"{platform.system()} {platform.machine()}",
        },
        **findings,
    }
    path = _ROOT / "docs" / "evidence" / f"{suite}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def commit_now() -> dict[str, Any]:
    """Returns the commit that runs, and whether its code has been changed since."""
    changed = bool(_git("status", "--porcelain", "--", "src", "tests"))
    return {"commit": _git("rev-parse", "HEAD"), "uncommitted_changes": changed}


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=_ROOT, check=True, capture_output=True, text=True).stdout.strip()

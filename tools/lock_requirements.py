"""Writes the requirement locks from pyproject.toml: hashed, for every platform, no index named.

Run it as `make lock` after a change of dependencies; options of `uv pip compile`, such as --upgrade, may follow.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMON = [
    "--universal",
    "--python-version",
    "3.11",
    "--generate-hashes",
    "--no-header",
    "--no-emit-index-url",
    "--quiet",
]
HOST = re.compile(r"://|--index-url|--extra-index-url|--find-links|--trusted-host")


def compile_lock(output: str, *arguments: str) -> None:
    command = [sys.executable, "-m", "uv", "pip", "compile", *COMMON, *arguments, "-o", output]
    subprocess.run(command, cwd=ROOT, check=True)
    named = [line for line in (ROOT / output).read_text(encoding="utf-8").splitlines() if HOST.search(line)]
    if named:
        sys.exit(f"{output} names a host, which would pin everybody to one index: {named[0]}")


if __name__ == "__main__":
    more = sys.argv[1:]
    compile_lock("requirements.lock", "pyproject.toml", *more)
    compile_lock(
        "requirements-dev.lock", "pyproject.toml", "--group", "dev", "--constraints", "requirements.lock", *more
    )
    compile_lock("requirements-browser.lock", "--group", "browser", *more)
    compile_lock("requirements-go.lock", "--group", "go", *more)
    compile_lock("requirements-docs.lock", "--group", "docs", "--constraints", "requirements-dev.lock", *more)

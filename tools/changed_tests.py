"""Prints the test files that a change can break first: python tools/changed_tests.py [BASE].

BASE is a commit, by default the last one of `origin/main` that this branch has; without such a branch, HEAD. Everything
since then counts as changed, uncommitted files too. A test file is listed when it was changed itself, when it imports a
changed module, or when it is named after one. Other tests may break as well: `make test` runs all.
"""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def changed_files(base: str | None) -> set[str]:
    """Returns the paths of what differs from `base`, relative to the root."""
    if base is None:
        found = _git("merge-base", "origin/main", "HEAD", check=False)
        base = found[0] if found else "HEAD"
    return {*_git("diff", "--name-only", base), *_git("ls-files", "--others", "--exclude-standard")}


def broken_by(changed: Iterable[str], tests: Iterable[Path]) -> Iterator[Path]:
    """Yields those of the test files that `changed` can break, see above."""
    files = {Path(name) for name in changed}
    modules = {_module(file) for file in files if file.parts[:1] == ("src",) and file.suffix == ".py"}
    names = {f"test_{file.stem}" for file in files if file.suffix == ".py"}
    for test in tests:
        if test.relative_to(ROOT) in files or test.stem in names or not modules.isdisjoint(_imported(test)):
            yield test


def _module(file: Path) -> str:
    parts = file.with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def _imported(test: Path) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(test.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update([node.module, *(f"{node.module}.{name.name}" for name in node.names)])
    return frozenset(found)


def _git(*words: str, check: bool = True) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, check=check, capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


def main() -> None:
    changed = changed_files(sys.argv[1] if len(sys.argv) > 1 else None)
    for test in broken_by(changed, sorted((ROOT / "tests").rglob("test_*.py"))):
        print(test.relative_to(ROOT))


if __name__ == "__main__":
    main()

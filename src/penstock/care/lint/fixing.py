"""Makes the changes of findings in their files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from penstock.care.lint.finding import Edit, Finding


def apply_fixes(findings: Iterable[Finding]) -> int:
    """Makes each safe change in its file; returns how many. A notebook in JSON is left as it is.

    Raises:
        OSError: a file cannot be written; those before it are changed.
    """
    edits: dict[str, list[Edit]] = defaultdict(list)
    for finding in findings:
        if finding.edit is not None and Path(finding.place.path).suffix == ".py":
            edits[finding.place.path].append(finding.edit)
    for path, of_file in edits.items():
        lines = Path(path).read_bytes().decode("utf-8").split("\n")
        for edit in sorted(of_file, key=lambda each: each.start, reverse=True):
            _apply(lines, edit)
        Path(path).write_bytes("\n".join(lines).encode("utf-8"))
    return sum(map(len, edits.values()))


def _apply(lines: list[str], edit: Edit) -> None:
    (first, start), (last, end) = edit.start, edit.end
    # Columns of Python's syntax trees count bytes of UTF-8.
    before = lines[first - 1].encode()[:start].decode()
    after = lines[last - 1].encode()[end:].decode()
    lines[first - 1 : last] = [before + edit.text + after]

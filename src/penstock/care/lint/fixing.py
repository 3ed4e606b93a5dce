"""Makes the changes of findings in their files."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from penstock.care.finding import Edit, Finding
from penstock.care.user_file import replace_user_file


def apply_fixes(findings: Iterable[Finding]) -> int:
    """Makes each safe change in its file; returns how many. A notebook in JSON is left as it is.

    Raises:
        ConfigError: FILE_NOT_WRITABLE; the files before it are changed.
    """
    edits: dict[str, list[Edit]] = defaultdict(list)
    for finding in findings:
        if isinstance(finding.edit, Edit) and Path(finding.place.path).suffix == ".py":
            edits[finding.place.path].append(finding.edit)
    for path, of_file in edits.items():
        text = Path(path).read_bytes()
        mark = BOM_UTF8 if text.startswith(BOM_UTF8) else b""
        lines = text.removeprefix(mark).splitlines(keepends=True)  # of bytes, which is what columns count
        for edit in sorted(of_file, key=lambda each: each.start, reverse=True):
            (first, start), (last, end) = edit.start, edit.end
            lines[first - 1 : last] = [lines[first - 1][:start] + edit.text.encode() + lines[last - 1][end:]]
        replace_user_file(Path(path), mark + b"".join(lines))
    return sum(map(len, edits.values()))

"""The findings that were there when a project began to use `penstock lint`: known, and not reported.

A finding is known by its rule, its file and the text of its line, and not by the line's number: code above it may
come and go. Where the same line is found more often than before, the last ones are new.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from penstock.care.finding import Finding
from penstock.care.lint.linting import LintReport, Suppressed
from penstock.care.user_file import replace_user_file
from penstock.errors import ConfigError

_FORMAT: Final = 1

Key = tuple[str, str, str]


def write_baseline(report: LintReport, file: Path) -> None:
    """Writes the findings of a report; their paths are relative to the file's folder.

    Raises:
        ConfigError: FILE_NOT_WRITABLE.
    """
    counted = sorted(Counter(_key(each, file) for each in report.findings).items())
    findings = [{"rule": rule, "path": path, "text": text, "count": count} for (rule, path, text), count in counted]
    document = json.dumps({"format": _FORMAT, "findings": findings}, indent=2)
    replace_user_file(file, f"{document}\n".encode())


def without_baseline(report: LintReport, file: Path) -> LintReport:
    """Returns a report without the findings that a baseline has; they count as ignored.

    Raises:
        ConfigError: LINT_BASELINE_UNREADABLE.
    """
    known = _read(file)
    new, suppressed = [], list(report.suppressed)
    for finding in report.findings:
        key = _key(finding, file)
        known[key] -= 1
        if known[key] < 0:
            new.append(finding)
        else:
            suppressed.append(Suppressed(finding, by_comment=False))
    return replace(report, findings=tuple(new), suppressed=tuple(suppressed))


def _read(file: Path) -> Counter[Key]:
    try:
        return _counted(json.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        reason = "it is not there"
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = str(error) or type(error).__name__
    raise ConfigError("LINT_BASELINE_UNREADABLE", path=str(file), reason=reason)


def _counted(document: Any) -> Counter[Key]:
    if document["format"] != _FORMAT:
        raise ValueError(f"its format is {document['format']}, and this version reads {_FORMAT}")
    return Counter({(each["rule"], each["path"], each["text"]): int(each["count"]) for each in document["findings"]})


def _key(finding: Finding, baseline: Path) -> Key:
    path = Path(finding.place.path)
    folder = baseline.resolve().parent
    whole = path.resolve()
    shown = whole.relative_to(folder) if whole.is_relative_to(folder) else path
    return finding.rule.name, shown.as_posix(), finding.text

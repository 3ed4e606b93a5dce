"""What was found as SARIF 2.1.0, the format that code scanning services read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from penstock.care.finding import Edit, Finding, Place, Rule
from penstock.care.lint.catalogue import rules
from penstock.care.lint.linting import LintReport, Suppressed
from penstock.care.lint.places import cell_of
from penstock.errors import PenstockError, SourceLocation

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def to_sarif(report: LintReport, *, version: str, folder: Path) -> dict[str, Any]:
    """Returns the log of one run; paths below `folder` are relative to it, as those of a checkout must be.

    Findings that a comment or a baseline has taken away are in it with their suppression, and files that could not be
    read are notifications.
    """
    catalogue = rules()
    numbers = {name: number for number, name in enumerate(catalogue)}
    results = [_result(each, numbers, folder) for each in report.findings]
    results += [_suppressed(each, numbers, folder) for each in report.suppressed]
    driver = {"name": "penstock lint", "version": version, "rules": [_rule(each) for each in catalogue.values()]}
    invocation = {
        "executionSuccessful": not report.errors,
        "toolExecutionNotifications": [_notification(each, folder) for each in report.errors],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    text = f"{rule.why}\n{rule.fix}\n\nFound in:\n\n{rule.bad}\nNot in:\n\n{rule.good}"
    markdown = (
        f"{rule.why} {rule.fix}\n\nFound in:\n\n```python\n{rule.bad}```\n\nNot in:\n\n```python\n{rule.good}```\n"
    )
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.why},
        "fullDescription": {"text": f"{rule.why} {rule.fix}"},
        "help": {"text": text, "markdown": markdown},
        "defaultConfiguration": {"level": rule.severity.value},
    }


def _result(finding: Finding, numbers: dict[str, int], folder: Path) -> dict[str, Any]:
    rule = finding.rule
    result: dict[str, Any] = {
        "ruleId": rule.name,
        "ruleIndex": numbers[rule.name],
        "level": rule.severity.value,
        "message": {"text": f"{finding.evidence}. {rule.why} {rule.fix}"},
        "locations": [_location(finding.place, folder)],
    }
    if isinstance(finding.edit, Edit) and cell_of(finding.place) is None:
        result["fixes"] = [_fix(finding, finding.edit, folder)]
    return result


def _suppressed(suppressed: Suppressed, numbers: dict[str, int], folder: Path) -> dict[str, Any]:
    kind = "inSource" if suppressed.by_comment else "external"
    return {**_result(suppressed.finding, numbers, folder), "suppressions": [{"kind": kind}]}


def _location(place: Place, folder: Path) -> dict[str, Any]:
    """The place of a finding; of a notebook in JSON the cell and the line in it, because the file's lines are JSON."""
    cell = cell_of(place)
    if cell is not None:
        path, number = cell
        name = f"cell {number}, line {place.line}"
        return {
            "physicalLocation": {"artifactLocation": {"uri": _uri(path, folder)}},
            "logicalLocations": [{"fullyQualifiedName": name}],
        }
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(place.path, folder)}}
    if place.line is not None:
        column = {} if place.column is None else {"startColumn": max(place.column, 1)}
        physical["region"] = {"startLine": place.line, **column}
    return {"physicalLocation": physical}


def _fix(finding: Finding, edit: Edit, folder: Path) -> dict[str, Any]:
    lines = Path(finding.place.path).read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    (first, start), (last, end) = edit.start, edit.end
    region = {
        "startLine": first,
        "startColumn": len(lines[first - 1][:start].decode()) + 1,
        "endLine": last,
        "endColumn": len(lines[last - 1][:end].decode()) + 1,
    }
    change = {
        "artifactLocation": {"uri": _uri(finding.place.path, folder)},
        "replacements": [{"deletedRegion": region, "insertedContent": {"text": edit.text}}],
    }
    return {"description": {"text": finding.rule.fix}, "artifactChanges": [change]}


def _notification(error: PenstockError, folder: Path) -> dict[str, Any]:
    place = error.location or SourceLocation(str(error.facts["path"]))
    return {
        "level": "error",
        "descriptor": {"id": error.condition},
        "message": {"text": error.message},
        "locations": [_location(place, folder)],
    }


def _uri(path: str, folder: Path) -> str:
    whole = Path(path).resolve()
    if whole.is_relative_to(folder.resolve()):
        return quote(whole.relative_to(folder.resolve()).as_posix())
    return whole.as_uri()

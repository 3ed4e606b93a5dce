"""What was found as SARIF 2.1.0, the format that code scanning services read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import quote

from penstock.care.finding import Edit, Finding, Place, Rule, Subject
from penstock.care.places import cell_of
from penstock.errors import PenstockError, SourceLocation

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

SuppressionKind = Literal["inSource", "external"]


@dataclass(frozen=True, slots=True)
class SarifTool:
    """What has looked.

    Attributes:
        name: such as `penstock lint`.
        version: that of Penstock.
        rules: all that it looks for, by name.
        language: of the rules' examples, as Markdown names it.
    """

    name: str
    version: str
    rules: Mapping[str, Rule]
    language: str


def to_sarif(
    tool: SarifTool,
    findings: Iterable[Finding],
    *,
    folder: Path,
    suppressed: Iterable[tuple[Finding, SuppressionKind]] = (),
    errors: Iterable[PenstockError] = (),
    pipeline_file: Path | None = None,
) -> dict[str, Any]:
    """Returns the log of one run; paths below `folder` are relative to it, as those of a checkout must be.

    Args:
        tool: What has looked.
        findings: What it found.
        folder: The checkout.
        suppressed: Findings that a comment or a baseline has taken away.
        errors: Of files that could not be read: they are notifications.
        pipeline_file: The file of a finding about a table, a setting or the like, which is in no file itself:
            code scanning services reject a log with a result that names none.
    """
    places = _Places(folder, pipeline_file)
    numbers = {name: number for number, name in enumerate(tool.rules)}
    results = [_result(each, numbers, places) for each in findings]
    results += [{**_result(each, numbers, places), "suppressions": [{"kind": kind}]} for each, kind in suppressed]
    notifications = [_notification(each, places) for each in errors]
    rules = [_rule(each, tool.language) for each in tool.rules.values()]
    run = {
        "tool": {"driver": {"name": tool.name, "version": tool.version, "rules": rules}},
        "invocations": [{"executionSuccessful": not notifications, "toolExecutionNotifications": notifications}],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


@dataclass(frozen=True, slots=True)
class _Places:
    folder: Path
    pipeline_file: Path | None

    def location(self, place: Place) -> dict[str, Any]:
        """Returns the place of a finding: in a file, in a cell of a notebook, or a table, a setting or the like."""
        if isinstance(place, Subject):
            return self._of_subject(place)
        cell = cell_of(place)
        if cell is not None:  # the lines of a notebook in JSON are not those of its code
            path, number = cell
            name = f"cell {number}, line {place.line}"
            return {**self._in_file(path), "logicalLocations": [{"fullyQualifiedName": name}]}
        if place.line is None:
            return self._in_file(place.path)
        column = {} if place.column is None else {"startColumn": max(place.column, 1)}
        return self._in_file(place.path, region={"startLine": place.line, **column})

    def uri(self, path: str) -> str:
        """Returns the URI of a file, relative to the folder if it is in it."""
        whole = Path(path).resolve()
        if whole.is_relative_to(self.folder.resolve()):
            return quote(whole.relative_to(self.folder.resolve()).as_posix())
        return whole.as_uri()

    def _of_subject(self, subject: Subject) -> dict[str, Any]:
        logical = {"fullyQualifiedName": subject.name or subject.kind, "kind": subject.kind}
        physical = {} if self.pipeline_file is None else self._in_file(str(self.pipeline_file))
        return {**physical, "logicalLocations": [logical]}

    def _in_file(self, path: str, **region: Any) -> dict[str, Any]:
        return {"physicalLocation": {"artifactLocation": {"uri": self.uri(path)}, **region}}


def _rule(rule: Rule, language: str) -> dict[str, Any]:
    text = f"{rule.why}\n{rule.fix}\n\nFound in:\n\n{rule.bad}\nNot in:\n\n{rule.good}"
    bad, good = (f"```{language}\n{example}```" for example in (rule.bad, rule.good))
    markdown = f"{rule.why} {rule.fix}\n\nFound in:\n\n{bad}\n\nNot in:\n\n{good}\n"
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.why},
        "fullDescription": {"text": f"{rule.why} {rule.fix}"},
        "help": {"text": text, "markdown": markdown},
        "defaultConfiguration": {"level": rule.severity.value},
    }


def _result(finding: Finding, numbers: Mapping[str, int], places: _Places) -> dict[str, Any]:
    rule = finding.rule
    result: dict[str, Any] = {
        "ruleId": rule.name,
        "ruleIndex": numbers[rule.name],
        "level": rule.severity.value,
        "message": {"text": f"{finding.evidence.removesuffix('.')}. {rule.why} {finding.fix}"},
        "locations": [places.location(finding.place)],
    }
    if isinstance(finding.edit, Edit) and cell_of(finding.place) is None:
        result["fixes"] = [_fix(finding, finding.edit, places)]
    return result


def _fix(finding: Finding, edit: Edit, places: _Places) -> dict[str, Any]:
    lines = Path(finding.place.path).read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    (first, start), (last, end) = edit.start, edit.end
    region = {
        "startLine": first,
        "startColumn": len(lines[first - 1][:start].decode()) + 1,
        "endLine": last,
        "endColumn": len(lines[last - 1][:end].decode()) + 1,
    }
    change = {
        "artifactLocation": {"uri": places.uri(finding.place.path)},
        "replacements": [{"deletedRegion": region, "insertedContent": {"text": edit.text}}],
    }
    return {"description": {"text": finding.rule.fix}, "artifactChanges": [change]}


def _notification(error: PenstockError, places: _Places) -> dict[str, Any]:
    place = error.location or SourceLocation(str(error.facts["path"]))
    return {
        "level": "error",
        "descriptor": {"id": error.condition},
        "message": {"text": error.message},
        "locations": [places.location(place)],
    }

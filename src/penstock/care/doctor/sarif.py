"""What doctor has found as a SARIF log."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from penstock.care.doctor.catalogue import rules
from penstock.care.doctor.examination import Examination
from penstock.care.finding import Finding, Place, Subject
from penstock.care.sarif import SarifTool, to_sarif

_KINDS: Final = {
    "checkpoints-sound": "checkpoint",
    "tables-readable": "table",
    "tables-declared": "table",
    "lock-held": "lock",
    "event-log-readable": "event log",
    "jars-unchanged": "jar",
}
"""What a place in the storage or the cache of jars is, by the rule that names it; else the storage itself."""


def examination_to_sarif(found: Examination, *, version: str, folder: Path, pipeline_file: Path) -> dict[str, Any]:
    """Returns what `penstock doctor --sarif` prints: the findings of all checks that failed.

    Paths below `folder` are relative to it. What is in no line of a file is a logical location, in `pipeline_file`.
    """
    findings = [finding for check in found.checks for finding in check.findings]
    return to_sarif(
        SarifTool("penstock doctor", version, rules(), ""),
        [replace(each, place=_place(each, pipeline_file.parent)) for each in findings],
        folder=folder,
        pipeline_file=pipeline_file,
    )


def _place(finding: Finding, directory: Path) -> Place:
    """Returns a place in a line of the user's files, which are named from `directory`, or what it is about."""
    place = finding.place
    if isinstance(place, Subject):
        return place
    if place.line is not None:
        return replace(place, path=str(directory / place.path))
    kind = _KINDS.get(finding.rule.name, "storage")
    table = finding.error.dataset if kind == "table" and finding.error is not None else None
    return Subject(kind, table or place.path)

"""What lint has found as a SARIF log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.care.lint.catalogue import rules
from penstock.care.lint.linting import LintReport
from penstock.care.sarif import SarifTool, to_sarif


def report_to_sarif(report: LintReport, *, version: str, folder: Path) -> dict[str, Any]:
    """Returns what `penstock lint --sarif` prints; paths below `folder` are relative to it.

    What a comment or a baseline has taken away has its suppression; files that could not be read are notifications.
    """
    return to_sarif(
        SarifTool("penstock lint", version, rules(), "python"),
        report.findings,
        folder=folder,
        suppressed=[(each.finding, "inSource" if each.by_comment else "external") for each in report.suppressed],
        errors=report.errors,
    )

"""Checkpoints are whole and fit their tables, as `penstock checkpoint verify` says."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from penstock.care.doctor.facts import StorageFacts
from penstock.care.doctor.finding import Finding
from penstock.observe.problems import Severity


def check(facts: StorageFacts) -> Iterator[Finding]:
    """Yields what was found there."""
    folders = {each.name: each.folder.uri for each in facts.verification.checked}
    for error in facts.verification.findings:
        flow = error.facts.get("flow")
        look = ["penstock checkpoint verify"] if flow is None else [f"penstock checkpoint show {shlex.quote(flow)}"]
        yield Finding(
            Severity.ERROR, error, where=error.facts.get("path") or folders.get(flow or ""), commands=tuple(look)
        )

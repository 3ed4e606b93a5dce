"""`penstock doctor`: what is wrong with the storage, before a run or Spark meets it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from penstock.cli.options import AsJson
from penstock.cli.project import Project, project_command
from penstock.cli.screen.console import note, plural, print_json, say

if TYPE_CHECKING:
    from penstock.care.finding import Finding
    from penstock.config import PipelineConfig


@project_command()
def doctor(
    *,
    config: Project,
    as_json: AsJson = False,
) -> None:
    """Look for what is wrong with the storage: checkpoints, tables, event log, lock, disk; say what to type.

    Finds what `checkpoint verify` finds, tables that cannot be opened or are no longer declared, lines of the log that
    were skipped, joins that keep rows for ever and how many, the lock of a process that is gone, a disk that is nearly
    full, a later version of Penstock, jars of this user's cache that have changed, a master without
    `spark.authenticate`, and a run that has few file descriptors left, too many threads or a large output. Changes
    nothing. Exits with 3 when anything is found.
    """
    from penstock.care.doctor.examination import examine

    found = examine(config.storage)
    found = replace(found, findings=(*_altered_jars(), *found.findings, *_open_driver(config)))
    if as_json:
        print_json(found.to_json())
    else:
        for finding in found.findings:
            say("\n".join(_lines(finding)))
        outcome = plural(len(found.findings), "finding") if found.findings else "nothing wrong"
        looked_at = f"{plural(len(found.checkpoints), 'checkpoint')} and {plural(len(found.tables), 'table')}"
        note(f"{looked_at} looked at, event log, lock, disk and jars: {outcome}.")
        if found.running:
            note("A run works on this storage; what it writes meanwhile can look damaged.")
    if found.findings:
        raise typer.Exit(3)


def _altered_jars() -> Iterator[Finding]:
    from penstock.care.doctor.rules import found
    from penstock.spark.session.setup.jars import altered_jars

    for error in altered_jars():
        yield found("jars-unchanged", error, where=error.facts["path"], commands=(error.facts["command"],))


def _open_driver(config: PipelineConfig) -> Iterator[Finding]:
    from penstock.care.doctor.rules import found
    from penstock.spark.session.cluster_settings import unauthenticated

    error = unauthenticated(config)
    if error is not None:
        yield found("cluster-authentication", error)


def _lines(finding: Finding) -> list[str]:
    from penstock.errors import render

    assert finding.error is not None
    first, *rest = render(finding.error).splitlines()
    lines = [f"{finding.severity.value.capitalize()} {first}", *rest]
    if finding.where is not None:
        lines.append(f"  Where: {finding.where}")
    if finding.since is not None:
        lines.append(f"  Since: {finding.since:%Y-%m-%d %H:%M:%S} UTC")
    return [*lines, *(f"  Type: {command}" for command in finding.commands)]

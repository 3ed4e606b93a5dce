"""`penstock doctor`: what is wrong with the storage and the settings, before a run or Spark meets it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import AsJson, Directory, Environment, FailOn, Pipeline, StorageUri
from penstock.cli.project import open_project
from penstock.cli.screen.console import note, plural, print_json, say
from penstock.cli.screen.rules import explain_rule
from penstock.errors import ConfigError, PenstockError, did_you_mean

if TYPE_CHECKING:
    from penstock.care.doctor.checklist import CheckResult
    from penstock.care.doctor.examination import Examination
    from penstock.care.finding import Finding, Rule
    from penstock.config import PipelineConfig


def doctor(
    *,
    directory: Directory = Path(),
    fail_on: Annotated[
        FailOn | None,
        typer.Option(
            "--fail-on",
            help="From which severity on the exit code is 3, of all checks.",
            show_default="only for what a run would meet",
        ),
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Make the changes of the pipeline file that are safe, and show them.")
    ] = False,
    sarif: Annotated[
        bool, typer.Option("--sarif", help="Print a SARIF 2.1.0 log, for code scanning, instead.")
    ] = False,
    explain: Annotated[
        str | None, typer.Option("--explain", metavar="RULE", help="Say what a check is about, with examples.")
    ] = None,
    environment: Environment = None,
    pipeline: Pipeline = None,
    storage: StorageUri = None,
    as_json: AsJson = False,
) -> None:
    """Look for what is wrong with a pipeline, running or not, and go through the production checklist. No JVM.

    Finds what `checkpoint verify` finds, tables that cannot be opened or are no longer declared, lines of the log that
    were skipped, joins that keep rows for ever and how many, the lock of a process that is gone, a disk that is nearly
    full, a later version of Penstock, jars of this user's cache that have changed, a master without
    `spark.authenticate`, tables that a catalog has otherwise or not at all, and a run that has few file descriptors
    left, too many threads or a large output: exits with 3 when any of that is found. The checklist judges reliability,
    data quality, performance, cost, security and monitoring by the settings, the event log and the tables: pass, fail
    or not applicable, with the numbers. Changes nothing without --fix.
    """
    if explain is not None:
        _explain(_rule(explain), as_json=as_json)
        return
    opened = partial(open_project, directory, environment=environment, pipeline=pipeline, storage=storage)
    config = opened()
    found = _examine(config)
    if fix and _fix(config, found):
        config = opened()
        found = _examine(config)
    if as_json:
        print_json(found.to_json())
    elif sarif:
        _print_sarif(found, config)
    else:
        _print(found)
    if _fails(found, fail_on):
        raise typer.Exit(3)


def _examine(config: PipelineConfig) -> Examination:
    from penstock.care.doctor.examination import examine
    from penstock.cli.doctor_settings import settings_of

    return examine(config.storage, settings_of(config), also=(*_altered_jars(), *_open_driver(config), *_drift(config)))


def _altered_jars() -> Iterator[Finding]:
    from penstock.care.doctor.rules import found
    from penstock.spark.session.setup.jars import altered_jars

    for error in altered_jars():
        yield found("jars-unchanged", error, where=error.facts["path"], commands=(error.facts["command"],))


def _open_driver(config: PipelineConfig) -> Iterator[Finding]:
    from penstock.care.doctor.rules import found
    from penstock.spark.session.cluster.settings import unauthenticated

    error = unauthenticated(config)
    if error is not None:
        yield found("cluster-authentication", error)


def _drift(config: PipelineConfig) -> Iterator[Finding]:
    if config.catalogs:
        from penstock.care.doctor.rules import found
        from penstock.registration.drift import registration_drift

        for error in registration_drift(config):
            yield found("tables-registered", error, where=error.facts.get("table") or error.facts.get("uri"))


def _fails(found: Examination, fail_on: FailOn | None) -> bool:
    if fail_on is None:
        return bool(found.findings)
    return any(each.severity.value in fail_on.severities for check in found.checks for each in check.findings)


def _fix(config: PipelineConfig, found: Examination) -> bool:
    """Changes the pipeline file; returns whether it did. A file that is no longer valid then gets its text back."""
    from penstock.care.doctor.fixing import edits_of, fix_settings
    from penstock.care.user_file import replace_user_file
    from penstock.config import load_project

    edits = edits_of(each for check in found.checks for each in check.findings)
    if not edits:
        note("No finding has a change that is safe to make.")
        return False
    file = _pipeline_file(config)
    text = file.read_bytes().decode("utf-8")
    fixed = None
    if file.name == "penstock.yml":
        fixed = fix_settings(text, edits, name=file.name, environment=config.environment)
    if fixed is None:
        keys = ", ".join(".".join(edit.keys) for edit in edits)
        note(f"{file.name} is not changed, because its layout could not be kept. Set by hand: {keys}.")
        return False
    replace_user_file(file, fixed.text.encode("utf-8"))
    try:
        load_project(config.directory, environment=config.environment)
    except PenstockError:
        replace_user_file(file, text.encode("utf-8"))
        raise
    note(fixed.diff)
    return True


def _print_sarif(found: Examination, config: PipelineConfig) -> None:
    from importlib import metadata

    from penstock.care.doctor.sarif import examination_to_sarif

    file = _pipeline_file(config)
    print_json(examination_to_sarif(found, version=metadata.version("penstock"), folder=Path(), pipeline_file=file))


def _pipeline_file(config: PipelineConfig) -> Path:
    return config.directory / Path(config.file.path).name


def _print(found: Examination) -> None:
    for finding in found.findings:
        say("\n".join(_lines(finding)))
    group = None
    for check in found.checks:
        if check.rule.group != group:
            group = check.rule.group
            say(f"{group or ''}".capitalize())
        say("\n".join(_check_lines(check)))
    outcome = plural(len(found.findings), "finding") if found.findings else "nothing wrong"
    looked_at = f"{plural(len(found.checkpoints), 'checkpoint')} and {plural(len(found.tables), 'table')}"
    note(f"{looked_at} looked at, event log, lock, disk and jars: {outcome}.")
    note(f"Checklist: {_counts(found.checks)}. `penstock doctor --explain RULE` says more.")
    if found.running:
        note("A run works on this storage; what it writes meanwhile can look damaged.")


def _counts(checks: Iterable[CheckResult]) -> str:
    from collections import Counter

    counted = Counter(each.status.value for each in checks)
    return f"{counted['pass']} pass, {counted['fail']} fail, {counted['not applicable']} not applicable"


def _check_lines(check: CheckResult) -> list[str]:
    first = f"  {check.status.value:<14}  {check.rule.name:<24}  {check.evidence}"
    own = [each for each in check.findings if each.error is None]
    if not own:
        return [first]
    lines = [first]
    if len(check.findings) > 1:
        lines += [f"      {each.place}: {each.evidence}" for each in own]
    fixable = " (--fix does it)" if any(each.edit is not None for each in own) else ""
    lines += [f"      {check.rule.why}", f"      Fix: {check.rule.fix}{fixable}"]
    commands = dict.fromkeys(command for each in own for command in each.commands)
    return [*lines, *(f"      Type: {command}" for command in commands)]


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


def _rule(name: str) -> Rule:
    from penstock.care.doctor.catalogue import rules

    known = rules().get(name.strip().casefold())
    if known is None:
        suggestion = did_you_mean(name, rules(), also=f"There are {', '.join(rules())}.")
        raise ConfigError("DOCTOR_RULE_UNKNOWN", name=name, suggestion=suggestion)
    return known


def _explain(rule: Rule, *, as_json: bool) -> None:
    if as_json:
        print_json(rule.to_json())
    else:
        say(explain_rule(rule))

"""`penstock lint`: what is wrong with streaming code, by reading it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import AsJson, FailOn
from penstock.cli.screen.console import note, plural, print_json, say
from penstock.cli.screen.rules import explain_rule
from penstock.errors import ConfigError, did_you_mean, render

if TYPE_CHECKING:
    from penstock.care.finding import Finding, Rule
    from penstock.care.lint.linting import LintReport


def lint(
    *,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH…", help="Scripts, notebooks, SQL files, and folders of them.", show_default="current folder"
        ),
    ] = None,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="From which severity on the exit code is 1.")
    ] = FailOn.WARNING,
    fix: Annotated[bool, typer.Option("--fix", help="Make the changes that are safe, and list the rest.")] = False,
    github: Annotated[
        bool, typer.Option("--github", help="Print the annotations of a workflow on GitHub instead.")
    ] = False,
    sarif: Annotated[
        bool, typer.Option("--sarif", help="Print a SARIF 2.1.0 log, for code scanning, instead.")
    ] = False,
    baseline: Annotated[
        Path | None, typer.Option("--baseline", metavar="FILE", help="Leave out what this file has as known.")
    ] = None,
    write_baseline: Annotated[
        Path | None,
        typer.Option("--write-baseline", metavar="FILE", help="Write what is found there as known."),
    ] = None,
    explain: Annotated[
        str | None, typer.Option("--explain", metavar="RULE", help="Say what a rule is about, with examples.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Look for mistakes in streaming code: PySpark, notebooks, pipeline files and SQL. Runs nothing, needs no Spark.

    A comment `# penstock: ignore[RULE] reason` (`--` in SQL) in the line, or in the one above, takes a finding away.
    Exits with 1 when something is found, and with 2 when a file cannot be read.
    """
    from penstock.care.lint import baseline as baselines
    from penstock.care.lint.fixing import apply_fixes
    from penstock.care.lint.linting import lint as look

    if explain is not None:
        _explain(_rule(explain), as_json=as_json)
        return
    report = look(paths or [Path()])
    if fix and (changed := apply_fixes(report.findings)):
        note(f"Changed {plural(changed, 'place')}.")
        report = look(paths or [Path()])
    if write_baseline is not None:
        baselines.write_baseline(report, write_baseline)
        found = plural(len(report.findings), "finding")
        note(f"{found} written: 'penstock lint --baseline {write_baseline}' leaves them out.")
        return
    if baseline is not None:
        report = baselines.without_baseline(report, baseline)
    if as_json:
        print_json(report.to_json())
    elif sarif:
        _print_sarif(report)
    else:
        for finding in report.findings:
            say(_annotation(finding) if github else _text(finding))
    for error in report.errors:
        note(render(error) + "\n")
    note(_summary(report))
    if report.errors:
        raise typer.Exit(2)
    if any(each.rule.severity.value in fail_on.severities for each in report.findings):
        raise typer.Exit(1)


def _rule(name: str) -> Rule:
    from penstock.care.lint.catalogue import rules

    found = rules().get(name.strip().casefold())
    if found is None:
        suggestion = did_you_mean(name, rules(), also=f"There are {', '.join(rules())}.")
        raise ConfigError("LINT_RULE_UNKNOWN", name=name, suggestion=suggestion)
    return found


def _explain(rule: Rule, *, as_json: bool) -> None:
    if as_json:
        print_json(rule.to_json())
    else:
        say(explain_rule(rule))


def _print_sarif(report: LintReport) -> None:
    from importlib import metadata

    from penstock.care.lint.sarif import report_to_sarif

    print_json(report_to_sarif(report, version=metadata.version("penstock"), folder=Path()))


def _text(finding: Finding) -> str:
    rule = finding.rule
    place = f"{finding.place}: {rule.severity.value}: [{rule.name}]"
    return f"{place} {finding.evidence}\n  {rule.why}\n  Fix: {rule.fix}"


def _annotation(finding: Finding) -> str:
    """The workflow command of GitHub's runners: properties and message escaped as they unescape them."""
    from penstock.care.places import cell_of

    place, title = finding.place, finding.rule.name
    cell = cell_of(place)
    if cell is None:
        properties = {"file": place.path, "line": str(place.line), "col": str(place.column), "title": title}
    else:  # the lines of the file are JSON, which is not what the finding is about
        properties = {"file": cell[0], "title": f"{title} in cell {cell[1]}, line {place.line}"}
    written = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in properties.items())
    message = _escaped(f"{finding.evidence}. {finding.rule.why} {finding.rule.fix}", "")
    return f"::{finding.rule.severity.value} {written}::{message}"


def _escaped(text: str, more: str) -> str:
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def _summary(report: LintReport) -> str:
    found = plural(len(report.findings), "finding") if report.findings else "nothing found"
    ignored = f", {report.ignored} ignored" if report.ignored else ""
    return f"{plural(report.files, 'file')} looked at: {found}{ignored}."

"""`penstock validate`: everything that is wrong with a pipeline, before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from penstock.cli.dev_session.client import answered_by_session
from penstock.cli.options import AsJson, Directory, Environment, Pipeline, Settings, StorageUri
from penstock.cli.project import enter, open_project
from penstock.cli.screen.console import note, plural, print_json, print_table, progress_lines
from penstock.cli.screen.failures import errors_json, errors_of
from penstock.cli.screen.quiet_stdout import only_results_on_stdout
from penstock.errors import ConfigError, DefinitionError, render

if TYPE_CHECKING:
    from penstock.runtime import ValidationReport


@answered_by_session
def validate(
    *,
    directory: Directory = Path(),
    environment: Environment = None,
    pipeline: Pipeline = None,
    storage: StorageUri = None,
    set_: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Check the whole pipeline and list its tables; nothing is run and nothing is written.

    Every error is shown with its file, its line and what to do. Ends with 2 when there is one.
    """
    try:
        config = open_project(directory, environment=environment, pipeline=pipeline, storage=storage, set_=set_)
        enter(config)
        from penstock.runtime import validate as check

        with only_results_on_stdout():
            report = check(config, progress=progress_lines())
    except (ConfigError, DefinitionError) as error:
        if not as_json:
            raise
        note(render(error))
        print_json({"valid": False, "datasets": [], "errors": errors_json(errors_of(error)), "warnings": []})
        raise typer.Exit(error.exit_code) from None
    for problem in (*report.errors, *report.warnings):
        note(render(problem) + "\n")
    if as_json:
        print_json(report_json(report))
    elif report.valid:
        _print_datasets(report)
    if report.valid:
        warned = f", {plural(len(report.warnings), 'warning')}" if report.warnings else ""
        note(f"Valid: {plural(len(report.datasets), 'dataset')}{warned}. 'penstock run' runs it.")
    else:
        note(f"{plural(len(report.errors), 'error')}; nothing was run and nothing was written.")
        raise typer.Exit(2)


def report_json(report: ValidationReport) -> dict[str, object]:
    """Returns `{valid, datasets, errors, warnings}` as `--json` prints it."""
    return {
        "valid": report.valid,
        "datasets": list(report.datasets),
        "errors": [one for error in report.errors for one in errors_json(errors_of(error))],
        "warnings": errors_json(tuple(report.warnings)),
    }


def _print_datasets(report: ValidationReport) -> None:
    rows = [
        (dataset["name"], _kind(dataset["type"]), ", ".join(dataset["inputs"]), len(dataset["schema"]))
        for dataset in report.datasets
    ]
    print_table([("dataset", False), ("type", False), ("reads", False), ("columns", True)], rows)


def _kind(dataset_type: str) -> str:
    return dataset_type.replace("_", " ").lower()

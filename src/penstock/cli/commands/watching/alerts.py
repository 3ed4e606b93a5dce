"""`penstock alerts`: what is wrong now, and whether the destinations can be reached."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import AsJson, Environment, Pipeline
from penstock.cli.project import Project, open_project, project_command
from penstock.cli.screen.console import note, plural, print_json, say
from penstock.errors import ConfigError, did_you_mean, render

if TYPE_CHECKING:
    from penstock.config import Destination, PipelineConfig


@project_command(scripts=True)
def check(
    *,
    config: Project,
    send: Annotated[
        bool, typer.Option("--send", help="Notify the destinations of new and resolved alerts, unless a run does.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Look once at the event log for what `alerts` watches; exit code 1 when anything is wrong.

    Reads the event log only, so it works when nothing runs: call it from cron, with --send, and a pipeline that is not
    run any more is noticed too.
    """
    from datetime import UTC, datetime

    from penstock.alerts.check import check as look
    from penstock.alerts.check import notify
    from penstock.cli.screen.status_view import error_record_lines

    found = look(config, datetime.now(UTC))
    if send and not found.run_is_alive:
        notify(config)
    if as_json:
        print_json({"run_is_alive": found.run_is_alive, "wrong": [finding.to_json() for finding in found.wrong]})
    else:
        for finding in found.wrong:
            for line in error_record_lines(finding.dataset or "", finding.error or {}):
                say(line)
        if not found.wrong:
            say(f"Nothing is wrong: {plural(found.watched, 'check')}.")
    if send and found.run_is_alive:
        note("A run is alive, and notifies the destinations itself.")
    if found.wrong:
        raise typer.Exit(1)


def send_test(
    *,
    destination: Annotated[
        str | None, typer.Argument(metavar="[DESTINATION]", help="Its name below `alerts.destinations`.")
    ] = None,
    directory: Annotated[Path, typer.Option("--directory", metavar="DIR", help="The folder of the pipeline.")] = Path(),
    environment: Environment = None,
    pipeline: Pipeline = None,
    as_json: AsJson = False,
) -> None:
    """Send a test message to one destination, or to each; exit code 1 when one does not take it."""
    import socket

    from penstock.alerts.message import Message, NotDelivered
    from penstock.alerts.sending import failure, send
    from penstock.cli.screen.failures import errors_json

    config = open_project(directory, environment=environment, pipeline=pipeline)
    errors = []
    for each in _chosen(config, destination):
        try:
            send(each, Message(config.name, socket.gethostname(), ()))
        except (NotDelivered, ConfigError) as error:
            undelivered = failure(each, error, config.redact)
            errors.append(undelivered)
            if not as_json:
                note(render(undelivered))
        else:
            if not as_json:
                say(f"{each.name} has taken a test message.")
    if as_json:
        print_json({"errors": errors_json(tuple(errors))})
    if errors:
        raise typer.Exit(1)


def _chosen(config: PipelineConfig, name: str | None) -> list[Destination]:
    known = {each.name: each for each in config.alerts.destinations}
    if not known:
        raise ConfigError("ALERTS_NOT_DECLARED", location=config.file, what="alerts.destinations")
    if name is None:
        return list(known.values())
    if name not in known:
        near = did_you_mean(name, known, also=f"Known: {', '.join(known)}.")
        raise ConfigError("ALERT_DESTINATION_UNKNOWN", location=config.file, destination=name, suggestion=near)
    return [known[name]]

"""`penstock script`: runs a plain Structured Streaming script."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.commands.tables.compact import compact_when_due
from penstock.cli.options import Environment, Pipeline, StorageUri
from penstock.cli.screen.console import note

if TYPE_CHECKING:
    from penstock.config import PipelineConfig
    from penstock.events import Event
    from penstock.observe.status.pipeline_status import PipelineStatus
    from penstock.runtime import UpdateOutcome

CONTEXT = {"allow_interspersed_args": False, "ignore_unknown_options": True}
"""What follows the script's name is the script's own."""


def script(
    file: Annotated[Path, typer.Argument(metavar="APP.py", help="The script.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[ARGS]...", help="What the script finds in sys.argv.")
    ] = None,
    *,
    ui: Annotated[bool, typer.Option("--ui", help="Serve the dashboard while the script runs.")] = False,
    environment: Environment = None,
    pipeline: Pipeline = None,
    storage: StorageUri = None,
) -> None:
    """Run a plain Structured Streaming script, its queries checked before they start and followed in the event log.

    The script runs as with `python APP.py`, on a session of Penstock's: Delta, Kafka and cloudFiles are there. Options
    of this command stand before APP.py. Ctrl-C or SIGTERM stops the queries after their current batches; a second one
    stops at once. `penstock status APP.py`, `events`, `show` and `ui` look at it.
    """
    from penstock.config import load_script
    from penstock.storage import refuse_if_locked
    from penstock.storage.new_files import restrict_new_files

    config = load_script(file, environment=environment, pipeline=pipeline, storage=storage)
    restrict_new_files(config.storage, config.storage_access)
    refuse_if_locked(config.storage)
    compact_when_due(config)
    if ui:
        from penstock.cli.dashboard_pipeline import known_pipeline
        from penstock.dashboard.serving.background import start_in_background

        dashboard = start_in_background(config.storage, pipeline=known_pipeline(config))
        note(f"Dashboard: {dashboard.url}")
    outcome, this_run = _run(config, file, arguments or [])

    from penstock.cli.screen.summary import exit_code, print_summary
    from penstock.observe.current import read_status

    total = read_status(config.storage)
    print_summary(outcome.state, outcome.errors, this_run=this_run, total=total, directory=shlex.quote(str(file)))
    if outcome.errors:
        raise typer.Exit(exit_code(outcome.errors))


def _run(config: PipelineConfig, file: Path, arguments: list[str]) -> tuple[UpdateOutcome, PipelineStatus]:
    """Runs the script in this thread, as Python would: libraries may rely on that."""
    from penstock.cli.screen.followers import followers_of
    from penstock.cli.screen.progress_view import PlainLines
    from penstock.cli.stopping import StopNow, StopRequests
    from penstock.errors import render_error_record

    view = PlainLines()

    def show(event: Event) -> None:
        if event.level.value == "WARN" and event.error is not None:
            view.explain(render_error_record(event.error))
        else:
            view.on_event(event)

    try:
        with StopRequests(view.announce, timeout=config.stop_timeout) as requests, view:
            from penstock.runtime.script import run_script

            outcome = run_script(
                config,
                file,
                arguments,
                on_event=show,
                followers=[*followers_of(config), requests.noted_in],
                stop=requests.stop,
                interrupt=requests.interrupt,
                progress=view.progress,
            )
            return outcome, view.status()
    except StopNow as now:
        now.end()

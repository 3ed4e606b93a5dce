"""`penstock run`: runs the pipeline."""

from __future__ import annotations

import os
import queue
import shlex
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.commands.tables.compact import compact_when_due
from penstock.cli.options import (
    AsJson,
    Batch,
    Directory,
    Environment,
    FullRefresh,
    FullRefreshAll,
    Pipeline,
    Refresh,
    Settings,
    StorageUri,
    selection,
)
from penstock.cli.project import enter, open_project
from penstock.cli.screen.console import note, print_json
from penstock.cli.screen.failures import errors_json, errors_of
from penstock.errors import ConfigError

if TYPE_CHECKING:
    from penstock.cli.screen.progress_view import ProgressView
    from penstock.config import PipelineConfig
    from penstock.plan.selection import RefreshSelection
    from penstock.runtime import UpdateOutcome

REDRAW_SECONDS = 0.25


def run(
    *,
    directory: Directory = Path(),
    refresh: Refresh = None,
    full_refresh: FullRefresh = None,
    full_refresh_all: FullRefreshAll = False,
    continuous: Annotated[
        bool, typer.Option("--continuous", help="Keep running and take new data as it arrives, until Ctrl-C.")
    ] = False,
    trigger: Annotated[
        str | None,
        typer.Option(
            "--trigger", metavar="INTERVAL", help='Start a batch this often, e.g. "10 seconds"; or available_now.'
        ),
    ] = None,
    accept_data_loss: Annotated[
        list[str] | None,
        typer.Option(
            "--accept-data-loss",
            metavar="FLOW",
            help="Let this flow continue without the data whose loss it has reported; may be given several times.",
        ),
    ] = None,
    batch: Batch = False,
    ui: Annotated[bool, typer.Option("--ui", help="Serve the dashboard while the run lasts.")] = False,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            "--metrics-port", metavar="PORT", min=0, max=65535, help="Serve metrics for Prometheus while the run lasts."
        ),
    ] = None,
    environment: Environment = None,
    pipeline: Pipeline = None,
    storage: StorageUri = None,
    set_: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Bring every table up to date, from where the last run stopped.

    Ctrl-C or SIGTERM stops after the current batch, or without it when that takes longer than `stop_timeout` of the
    pipeline file; a second one stops at once. Nothing is lost either way.
    """
    chosen = selection(refresh, full_refresh, full_refresh_all)
    config = open_project(directory, environment=environment, pipeline=pipeline, storage=storage, set_=set_)
    config = config.with_run_options(continuous=continuous, trigger=trigger, metrics_port=metrics_port)
    if batch:
        _refuse_with_batch({"--continuous": continuous, "--trigger": trigger, "--accept-data-loss": accept_data_loss})
        config = config.as_batch()
    where = shlex.join(
        [
            *([] if directory == Path() else [str(directory)]),
            *(["--storage", _as_typed(config.storage)] if batch or storage is not None else []),
        ]
    )
    if ui:
        from penstock.cli.dashboard_pipeline import known_pipeline
        from penstock.dashboard.serving.background import start_in_background

        dashboard = start_in_background(config.storage, pipeline=known_pipeline(config))
        note(f"Dashboard: {dashboard.url}")
    enter(config, short_lived=False, writes=True)
    compact_when_due(config)  # while the JVM starts

    from penstock.cli.screen.summary import (  # before the run, after which perhaps no file can be opened
        exit_code,
        print_summary,
    )
    from penstock.observe.current import read_status

    outcome, view = _run(config, chosen, accept_data_loss or [])
    total = read_status(config.storage)
    failed = bool(outcome.errors) or outcome.state.value == "FAILED"
    if as_json:
        errors = errors_json(tuple(one for error in outcome.errors for one in errors_of(error)))
        print_json({**total.to_json(), "errors": errors})
    print_summary(outcome.state, outcome.errors, this_run=view.status(), total=total, directory=where)
    if failed:
        raise typer.Exit(exit_code(outcome.errors))


def _as_typed(storage: str) -> str:
    """Returns a path below the current folder relative to it."""
    return storage.removeprefix(f"{os.getcwd()}/")


def _refuse_with_batch(options: Mapping[str, object]) -> None:
    given = [option for option, value in options.items() if value]
    if given:
        raise ConfigError("BATCH_OPTION_CONFLICT", option=given[0])


def _run(
    config: PipelineConfig, chosen: RefreshSelection, accept_data_loss: list[str]
) -> tuple[UpdateOutcome, ProgressView]:
    """Runs the update in a thread of its own, while this one draws and takes signals.

    PySpark takes over SIGINT when it is started in the main thread; here it is not, so a signal is
    always ours.
    """
    from penstock.cli.screen.followers import followers_of
    from penstock.cli.screen.progress_view import progress_view
    from penstock.cli.screen.quiet_stdout import only_results_on_stdout
    from penstock.cli.stopping import StopNow, StopRequests

    view = progress_view()
    ended: queue.SimpleQueue[UpdateOutcome | BaseException] = queue.SimpleQueue()

    def work(requests: StopRequests) -> None:
        try:
            from penstock.runtime import run_update

            ended.put(
                run_update(
                    config,
                    chosen,
                    accept_data_loss=accept_data_loss,
                    on_event=view.on_event,
                    followers=[*followers_of(config), requests.noted_in],
                    stop=requests.stop,
                    progress=view.progress,
                )
            )
        except BaseException as error:  # noqa: BLE001 -- handed to the main thread, which raises it
            ended.put(error)

    try:
        with only_results_on_stdout(), StopRequests(view.announce, timeout=config.stop_timeout) as requests, view:
            worker = threading.Thread(target=work, args=(requests,), name="update", daemon=True)
            worker.start()
            while worker.is_alive():
                worker.join(REDRAW_SECONDS)
                view.refresh()
    except StopNow as now:
        now.end()
    result = ended.get()
    if isinstance(result, BaseException):
        raise result
    return result, view

"""`penstock ui`: the dashboard in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.console import say
from penstock.cli.options import DirectoryOrScript, Environment, Pipeline, StorageUri
from penstock.cli.project import open_project


def ui(
    *,
    directory: DirectoryOrScript = Path(),
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="The loopback address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="N", min=0, max=65535, help="8420 or the next free one; 0 takes any free one."),
    ] = None,
    environment: Environment = None,
    pipeline: Pipeline = None,
    storage: StorageUri = None,
) -> None:
    """Serve the dashboard: lineage with live numbers, rates, expectations, events. Ctrl-C ends it.

    It reads the event log only, so it cannot disturb a run, and it starts no JVM.
    """
    from penstock.dashboard.server import serve

    config = open_project(directory, environment=environment, pipeline=pipeline, storage=storage, scripts=True)
    try:
        serve(config.storage, host=host, port=port, on_ready=lambda url: say(f"Dashboard: {url}  (Ctrl-C ends it)"))
    except KeyboardInterrupt:
        return

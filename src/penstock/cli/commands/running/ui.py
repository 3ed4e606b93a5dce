"""`penstock ui`: the dashboard in the browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import DirectoryOrScript, Environment, Pipeline, StorageUri
from penstock.cli.project import open_project
from penstock.cli.screen.console import say


def ui(
    *,
    directory: DirectoryOrScript = Path(),
    host: Annotated[
        str,
        typer.Option("--host", metavar="ADDRESS", help="The address to listen on; others than loopback need a token."),
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="N", min=0, max=65535, help="8420 or the next free one; 0 takes any free one."),
    ] = None,
    token_file: Annotated[
        str | None,
        typer.Option(
            "--token-file",
            metavar="FILE",
            help="Ask for the token in the first line of FILE; PENSTOCK_UI_TOKEN does the same.",
        ),
    ] = None,
    certificate: Annotated[
        str | None, typer.Option("--tls-cert", metavar="FILE", help="Serve HTTPS with this certificate (PEM).")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--tls-key", metavar="FILE", help="The certificate's key (PEM, without a password).")
    ] = None,
    allowed_hosts: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="A name under which it may be asked for; may be repeated."),
    ] = None,
    allow_actions: Annotated[
        bool, typer.Option("--allow-actions", help="Let pages stop and start runs; needs a token.")
    ] = False,
    user_header: Annotated[
        str | None,
        typer.Option(
            "--user-header",
            metavar="NAME",
            help="The header in which a proxy that sends the token names the user, for grants; needs a token.",
        ),
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option(
            "--prices",
            metavar="FILE",
            help="The price file of the page Cost.",
            show_default="prices.yml beside the pipeline file",
        ),
    ] = None,
    environment: Environment = None,
    pipeline: Pipeline = None,
    storage: StorageUri = None,
) -> None:
    """Serve the dashboard: problems, lineage with live numbers, flows, rows, updates, events. Ctrl-C ends it.

    It reads the event log and the tables only, so it cannot disturb a run, and it starts no JVM; what --allow-actions
    lets its pages do is noted in the event log.
    """
    from penstock.cli.dashboard_pipeline import known_pipeline
    from penstock.dashboard.server import serve
    from penstock.dashboard.serving.access import access_for

    config = open_project(directory, environment=environment, pipeline=pipeline, storage=storage, scripts=True)
    given = (("--env", environment), ("--pipeline", pipeline), ("--storage", storage))
    options = [word for option, value in given if value is not None for word in (option, value)]
    access = access_for(
        host,
        token_file=token_file,
        certificate=certificate,
        key=key,
        allowed_hosts=allowed_hosts or (),
        run_command=[sys.executable, "-m", "penstock.cli", "run", str(directory), *options] if allow_actions else None,
        user_header=user_header,
    )
    try:
        serve(
            config.storage,
            host=host,
            port=port,
            access=access,
            pipeline=known_pipeline(config, prices),
            on_ready=lambda url: say(f"Dashboard: {url}  (Ctrl-C ends it)"),
        )
    except KeyboardInterrupt:
        return

"""`penstock serve`: the storage's tables for BI tools, over JDBC and ODBC."""

from __future__ import annotations

import sys
from typing import Annotated, Final

import typer

from penstock.cli.project import Project, enter, project_command
from penstock.cli.recorded_reads import record_served_read
from penstock.cli.screen.console import note, progress_lines, say
from penstock.cli.stopping import StopRequests

_LONGEST: Final = 120
"""Characters of the name in a login that is refused."""


def _print_hash(wanted: bool) -> None:
    if wanted:
        from getpass import getpass

        from penstock.runtime.serving.users import hash_password

        password = getpass("Password: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
        say(hash_password(password))
        raise typer.Exit


@project_command()
def serve(
    *,
    hash_password: Annotated[
        bool,
        typer.Option(
            "--hash-password",
            help="Read a password from stdin, print its salted hash for 'serve.users', and exit.",
            callback=_print_hash,
            is_eager=True,
        ),
    ] = False,
    config: Project,
) -> None:
    """Serve the tables to BI tools: read-only SQL over Hive's protocol (JDBC, ODBC, PyHive). Ctrl-C ends it.

    Row filters and masks apply, each query sees the newest committed version of a table and is recorded as a read.
    The section 'serve' of the pipeline file says where it listens, who may log in, and what a query may take.
    """
    from penstock.config import load_project
    from penstock.events.log.audit import Actor
    from penstock.observe.stored.tables import external_tables
    from penstock.runtime.serving.server import serving, with_endpoint

    settings = with_endpoint(config)
    enter(settings, short_lived=False)
    progress_lines()("Starting Spark …")

    def record(user: str, statement: str, tables: list[str], rows: int) -> None:
        actor = Actor(user or None, "SQL endpoint")
        record_served_read(config, actor, tables, rows, {"statement": statement})

    def refused(user: str, tables: list[str], condition: str) -> None:
        record_served_read(config, Actor(user[:_LONGEST] or None, "SQL endpoint"), tables, 0, {"refused": condition})

    endpoint = serving(
        settings,
        progress=progress_lines(),
        report=note,
        record=record,
        refused=refused,
        elsewhere=lambda: external_tables(config.storage),
        users=lambda: load_project(config.directory, environment=config.environment),
    )
    stopping = StopRequests(lambda _: note("Stopping the SQL endpoint."), timeout=config.stop_timeout)
    with stopping as requests, endpoint as server:
        address, tls = config.serve.address, ";ssl=true" if config.serve.keystore else ""
        host = f"[{address}]" if ":" in address else address
        say(f"SQL endpoint: jdbc:hive2://{host}:{server.endpoint.port}/{config.schema}{tls}  (Ctrl-C ends it)")
        if server.health is not None:
            say(f"Health: {server.health.url}")
        note(f"Tables: {', '.join(server.tables.names()) or 'none yet'}")
        server.run(requests.stop)

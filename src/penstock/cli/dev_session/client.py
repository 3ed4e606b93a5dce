"""Has a running `penstock dev` of the project run a command, which then starts no Spark."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from penstock.cli.lazy_command import WORDS

if TYPE_CHECKING:
    from socket import socket

_WAIT_SECONDS: Final = 3.0
"""So long a session that is busy is waited for: starting Spark takes no less."""

_NO_SESSION: Final = "--no-session"

NoSession = Annotated[
    bool,
    typer.Option(
        _NO_SESSION,
        envvar="PENSTOCK_NO_SESSION",
        help="Start Spark, even where 'penstock dev' runs in the project's folder and could answer sooner.",
    ),
]


def answered_by_session(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the option --no-session; without it, a dev session of the project in DIR runs the command.

    What it prints and its exit code are the same. Where there is no session, it is of another installation,
    environment or settings of Spark, or is busy for some seconds, the command runs in this process.
    """
    signature = inspect.signature(command, eval_str=True)

    @functools.wraps(command)
    def answered(*, ctx: typer.Context, no_session: bool, **given: Any) -> None:
        if not no_session and (code := _answer(ctx, given["directory"])) is not None:
            raise typer.Exit(code)
        command(**given)

    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    option = inspect.Parameter("no_session", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=NoSession)
    parameters = [context, *signature.parameters.values(), option]
    answered.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    answered.__annotations__ = {each.name: each.annotation for each in parameters}
    return answered


def _answer(ctx: typer.Context, project: Path) -> int | None:
    """Returns the exit code of the command, None when no session has run it.

    Raises:
        ExternalError: DEV_SESSION_ENDED.
    """
    from penstock.cli.dev_session.place import connect

    if (connection := connect(project)) is None:
        return None
    from penstock.cli.dev_session.requests import Request, send_request
    from penstock.storage.new_files import process_umask

    debug = ["--debug"] if ctx.find_root().params.get("debug") else []
    words = [*debug, str(ctx.info_name), _NO_SESSION, *ctx.meta[WORDS]]  # else who answers would ask itself
    with connection:
        connection.settimeout(_WAIT_SECONDS)
        try:
            send_request(connection, Request.of_this_process(words, process_umask()))
        except OSError:
            return None
        return _exit_code(connection)


def _exit_code(connection: socket) -> int | None:
    printed = False
    try:
        for line in connection.makefile():
            match json.loads(line):
                case {"exit": int(code)}:
                    return code
                case {"prints": True}:
                    printed = True
                case {"runs": True}:
                    connection.settimeout(None)
                case _:  # it is refused
                    return None
    except (OSError, ValueError):  # busy, or killed
        pass
    if not printed:
        return None
    from penstock.errors import ExternalError

    raise ExternalError("DEV_SESSION_ENDED")

"""A command that one terminal has another one's process run, as they say it to each other: no value is a secret."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import blake2b
from importlib import metadata
from typing import Any, Final

_LENGTH: Final = 8
_STREAMS: Final = 3

_SHOWS: Final = re.compile(r"COLUMNS|LINES|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|TTY_\w+|PENSTOCK_DEBUG")
"""Variables that say how output looks: those of the terminal that asks are used."""

_OF_A_TERMINAL: Final = re.compile(
    r"_|PWD|OLDPWD|SHLVL|PS\d|GPG_TTY|WINDOWID|INVOCATION_ID|JOURNAL_STREAM|PENSTOCK_NO_SESSION|\w+_SESSION(_ID)?|"
    r"(TERM|LC_TERMINAL|ITERM|TMUX|STY|ZELLIJ|SSH|VSCODE|VTE|GNOME_TERMINAL|KITTY|WEZTERM|ALACRITTY|KONSOLE|XDG_SESSION"
    r"|STARSHIP|ATUIN|P9K|_P9K|POWERLEVEL)(_\w+)?"
)
"""Variables in which two terminals of one user differ, and on which nothing depends that a pipeline does."""


@dataclass(frozen=True, slots=True)
class Request:
    """A command line, where it was typed, and by what program.

    `program` tells one installation of Python and Penstock from another. `environment` has a digest of each variable
    on which an answer can depend, `shows` the values of those that say how it looks.
    """

    words: list[str]
    folder: str
    umask: int
    program: str
    environment: dict[str, str]
    shows: dict[str, str]

    @classmethod
    def of_this_process(cls, words: list[str], umask: int) -> Request:
        """Returns the request to run `words`, a command with its arguments, as this process would."""
        shows = {name: value for name, value in os.environ.items() if _SHOWS.fullmatch(name)}
        return cls(words, os.getcwd(), umask, program(), digests(os.environ), shows)


def program() -> str:
    """Returns what tells this installation of Python and Penstock from another."""
    return f"{sys.executable} {sys.version} penstock {metadata.version('penstock')} {sys.flags}"


def digests(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns a digest of each variable on which an answer can depend."""
    return {
        name: blake2b(value.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
        for name, value in environment.items()
        if not (_SHOWS.fullmatch(name) or _OF_A_TERMINAL.fullmatch(name))
    }


def send_request(connection: socket.socket, request: Request) -> None:
    """Sends a request and the standard streams of this process.

    Raises:
        OSError: one of the streams is closed, or nobody listens.
    """
    text = json.dumps(asdict(request)).encode()
    socket.send_fds(connection, [len(text).to_bytes(_LENGTH)], range(_STREAMS))
    connection.sendall(text)


def receive_request(connection: socket.socket) -> tuple[Request, list[int]] | None:
    """Returns a request and the streams of who sent it, which are the caller's to close; None if nothing is sent.

    Raises:
        OSError, ValueError: it was not sent in whole.
    """
    length, streams, _, _ = socket.recv_fds(connection, _LENGTH, _STREAMS)
    if not length:
        return None
    text = b""
    while len(text) < int.from_bytes(length) and (more := connection.recv(int.from_bytes(length) - len(text))):
        text += more
    return Request(**json.loads(text)), streams


def send(connection: socket.socket, **message: Any) -> None:
    """Sends one message of the process that answers, unless who asked is gone."""
    with suppress(OSError):
        connection.sendall(json.dumps(message).encode() + b"\n")

"""Commands of `penstock` that share one process and one Spark session, where a test needs no process for each.

`SharedCommands` starts that process, `python -m tests.shared_commands SOCKET`, and has a program `penstock`, which
gives it a command line, its folder, its environment and its three streams, and ends with the exit code. Spark has the
settings of the tests, not those of a pipeline file: a test of such a setting needs a process of its own, and so does
one of what Java itself prints, as the console sink does.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tests.processes import Server

_LENGTH: Final = 8
_OWN: Final = ("script", "test")
"""In processes of their own: Java resolves a script's relative paths, pytest keeps the modules that it has loaded."""

_PROGRAM: Final = """\
#!{python} -SE
import json, os, socket, sys

if sys.argv[1:] and sys.argv[1] in {own}:
    os.execv(sys.executable, [sys.executable, "-m", "penstock.cli", *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as server:
    server.connect({socket!r})
    command = {{"words": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}}
    text = json.dumps(command).encode()
    socket.send_fds(server, [len(text).to_bytes({length})], [0, 1, 2])
    server.sendall(text)
    ended = server.recv(16)
sys.exit(int(ended or 70))
"""


class SharedCommands:
    """The process, and the program that reaches it; it starts again when a command has ended it."""

    def __init__(self, folder: Path) -> None:
        self.programs = folder / "bin"
        self._socket = folder / "socket"
        command, root = [sys.executable, "-m", __name__, str(self._socket)], Path(__file__).parents[1]
        self._server = Server("shared commands", command, folder / "log", {"PYTHONPATH": str(root)})
        self.programs.mkdir()
        program = self.programs / "penstock"
        text = _PROGRAM.format(python=sys.executable, socket=str(self._socket), length=_LENGTH, own=_OWN)
        program.write_text(text)
        program.chmod(0o755)

    def started(self) -> SharedCommands:
        """Returns itself, with a process that answers."""
        if not self._answers():
            self.stop()
            self._socket.unlink(missing_ok=True)
            self._server.start(self._socket.exists)
        return self

    def stop(self) -> None:
        """Ends the process and its Spark."""
        self._server.stop()

    def _answers(self) -> bool:
        with suppress(OSError), socket.socket(socket.AF_UNIX) as tried:
            tried.connect(str(self._socket))
            return True
        return False


def serve(path: str) -> None:
    """Runs the commands that come, one after the other."""
    _share_session()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"{path}.new")
    listening.listen()
    os.rename(f"{path}.new", path)
    while True:
        connection, _ = listening.accept()
        with connection:
            length, streams, _, _ = socket.recv_fds(connection, _LENGTH, 3)
            if not length:  # somebody wanted to know whether this process answers
                continue
            text = _read(connection, int.from_bytes(length))
            if len(text) < int.from_bytes(length):  # the program has died while it sent
                continue
            command = json.loads(text)
            over = threading.Event()
            threading.Thread(target=_end_with_it, args=(connection, over), daemon=True).start()
            code = _run(command, streams)
            over.set()
            with suppress(OSError):
                connection.sendall(str(code).encode())


def _share_session() -> None:
    from penstock.runtime.project import workspace
    from penstock.spark.session import launch, session

    own = [os.dup(number) for number in range(3)]

    def start_session(*_: object, **__: object) -> Any:
        if running := session.running_session():
            return running
        streams = [os.dup(number) for number in range(3)]
        _take_streams([os.dup(stream) for stream in own])  # Java would hold those of the command open
        try:
            return session.start_session(launch.SessionConfig("shared"))
        finally:
            _take_streams(streams)

    # Where commands get their session; imported there, which mypy takes for private.
    workspace.start_session = start_session  # type: ignore[attr-defined]
    launch.launch_ahead = lambda *_, **__: None


def _stop_session() -> None:
    """Waits for the end of Java, whose processor time is then that of this process, and of the tests."""
    from penstock.spark.session import session

    if (running := session.running_session()) is not None:
        session.stop_session(running)


def _read(connection: socket.socket, count: int) -> bytes:
    read = b""
    while len(read) < count and (more := connection.recv(count - len(read))):
        read += more
    return read


def _end_with_it(connection: socket.socket, over: threading.Event) -> None:
    """Ends this process when the program is killed before its command is over."""
    with suppress(OSError):
        connection.recv(1)
    if not over.is_set():
        os._exit(1)


def _run(command: dict[str, Any], streams: list[int]) -> int:
    from penstock.cli.main import app

    own, environment, folder = [os.dup(number) for number in range(3)], dict(os.environ), os.getcwd()
    _become(streams, command["environment"], command["folder"])
    try:
        app(command["words"], prog_name="penstock")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        _become(own, environment, folder)
    return 0


def _become(streams: list[int], environment: dict[str, str], folder: str) -> None:
    _take_streams(streams)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)


def _take_streams(streams: list[int]) -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)


def _end(*_: object) -> None:
    raise SystemExit


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    try:
        serve(sys.argv[1])
    finally:
        _stop_session()

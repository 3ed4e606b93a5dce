"""Runs commands of other terminals in the process of `penstock dev`, one at a time, between its own computations."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from penstock.cli.dev_session.loaded_code import LoadedCode
from penstock.cli.dev_session.place import listening
from penstock.cli.dev_session.requests import Request, digests, program, receive_request, send
from penstock.cli.dev_session.streams import SessionEndsError, in_place_of
from penstock.cli.screen.console import note

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.spark.session.lending import Lender

_SEND_SECONDS: Final = 1.0
_CANCEL_SECONDS: Final = 0.2


@contextmanager
def answering(project: Path, spark: SparkSession, environment: Mapping[str, str]) -> Iterator[Commands | None]:
    """Takes commands for a project inside the block; None, and a line about it, where there can be no socket.

    `environment` are the variables with which this process was started.
    """
    from penstock.spark.session.lending import Lender

    with ExitStack() as stack:
        commands = None
        try:
            commands = Commands(stack.enter_context(listening(project)), environment, Lender(spark))
            note("validate, plan and sql in other terminals use this session.")
        except (OSError, AttributeError) as error:
            note(f"validate, plan and sql in other terminals do not use this session: {error}.")
        yield commands


@dataclass(slots=True)
class Commands:
    """The commands that come at a socket."""

    listener: socket.socket
    _environment: Mapping[str, str]
    _lender: Lender
    _code: LoadedCode = field(default_factory=LoadedCode)

    def fileno(self) -> int:
        """Returns the file descriptor that can be read when a command waits."""
        return self.listener.fileno()

    def run_waiting(self) -> None:
        """Runs the commands that wait, and says so in the terminal of this process.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed in that terminal; who asks runs the command itself.
        """
        self._code.note()
        self.listener.settimeout(0)
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(_SEND_SECONDS)
                received = None
                with suppress(OSError, ValueError, TypeError):  # who asked is gone, or is another version
                    received = receive_request(connection)
                connection.settimeout(None)
                if received is not None:
                    self._answer(connection, *received)

    def _answer(self, connection: socket.socket, request: Request, streams: list[int]) -> None:
        what = next(word for word in request.words if not word.startswith("-"))
        started, code, reason = time.monotonic(), None, self._refusal(request)
        if reason is None:
            code, reason = self._run(connection, request, streams), "it needs other settings of Spark"
        else:
            for stream in streams:
                os.close(stream)
        if code is None:
            send(connection, refused=True)
            note(f"{what} in another terminal does not use this session: {reason}.")
        else:
            send(connection, exit=code)
            note(f"{what} in another terminal: exit code {code} after {time.monotonic() - started:.2f} s.")
        self._lender.tidy()
        self._code.note()

    def _refusal(self, request: Request) -> str | None:
        """Returns why the answer could be another one here."""
        if request.program != program():
            return "it is of another Python or Penstock"
        own = digests(self._environment)
        if different := sorted({name for name, _ in own.items() ^ request.environment.items()}):
            return f"its environment differs in {', '.join(different[:5])}"
        if (file := self._code.changed()) is not None:
            return f"{file} has changed; start penstock dev again"
        return None

    def _run(self, connection: socket.socket, request: Request, streams: list[int]) -> int | None:
        """Runs a command and returns its exit code, None if it cannot run here: nothing was printed then."""
        from penstock.cli.main import app
        from penstock.spark.session.session import OtherSettingsError

        printed, over, gone = False, threading.Event(), threading.Event()

        def may_write(stream: int) -> bool:
            nonlocal printed
            if gone.is_set():
                return False
            if stream == 1 and not printed:
                printed = True
                send(connection, prints=True)
            return True

        send(connection, runs=True)
        watcher = threading.Thread(target=self._cancel_when_gone, args=(connection, over, gone), daemon=True)
        watcher.start()
        try:
            with in_place_of(request, streams, self._environment, may_write), self._lender.lent():
                app(request.words, prog_name="penstock")
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else int(end.code is not None)
        except (OtherSettingsError, OSError):  # the second: its folder is gone
            return None
        except SessionEndsError:
            raise KeyboardInterrupt from None
        finally:
            over.set()
        return 0

    def _cancel_when_gone(self, connection: socket.socket, over: threading.Event, gone: threading.Event) -> None:
        """Runs in a thread: ends the Spark jobs of a command when who asked for it has ended."""
        with suppress(OSError):
            connection.recv(1)  # nothing comes: it returns at the end of one of the two
        gone.set()
        while not over.wait(_CANCEL_SECONDS):
            self._lender.spark.sparkContext.cancelAllJobs()

"""TLS in front of a server that speaks none: what comes is decrypted and handed on, in threads of this process."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from pathlib import Path
from threading import Thread
from types import TracebackType


class TlsFront:
    """One address that shows the certificate of `keys` and hands on to a port of loopback; a context manager."""

    def __init__(self, keys: Path, behind: int) -> None:
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(keys)
        self._behind = behind
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.endpoint = f"https://{self.address}"

    def __enter__(self) -> TlsFront:
        Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)  # else the thread that waits keeps it open
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                Thread(target=self._serve, args=(self._listening.accept()[0],), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with (
            suppress(OSError),  # a client that trusts nobody says goodbye
            plain,
            self._context.wrap_socket(plain, server_side=True) as client,
            socket.create_connection(("127.0.0.1", self._behind)) as server,
        ):
            answers = Thread(target=_hand_on, args=(server, client), daemon=True)
            answers.start()
            _hand_on(client, server)
            answers.join()


def _hand_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)

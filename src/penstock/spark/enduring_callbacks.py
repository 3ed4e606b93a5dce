"""Java's calls into Python go on after a shortage of file descriptors.

py4j's server of such calls, on which functions of batches and the listener of queries depend, ends for good when a
connection cannot be accepted once.
"""

from __future__ import annotations

import errno
import functools
import socket
import time
from typing import Any, Final

from py4j.java_gateway import server_started

_SHORTAGES: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ECONNABORTED}
_PAUSE: Final = 0.1


@functools.cache
def accept_calls_after_shortages() -> None:
    """Lets py4j's servers that start from now on outlive a shortage; again is harmless."""
    server_started.connect(_endure)


def _endure(*, server: Any, **_: Any) -> None:
    """Called by py4j in the server's thread, before it accepts."""
    server.server_socket = _EnduringListener(server.server_socket)


class _EnduringListener:
    """A listening socket that tries again where there was a shortage."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener

    def __getattr__(self, name: str) -> Any:
        return getattr(self._listener, name)

    def accept(self) -> tuple[socket.socket, Any]:
        while True:
            try:
                return self._listener.accept()
            except OSError as error:  # a socket that was closed is another error, and the end
                if error.errno not in _SHORTAGES:
                    raise
            time.sleep(_PAUSE)

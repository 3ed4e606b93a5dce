"""Python's port for calls from the JVM: only the JVM may call there, and it outlives a shortage of file descriptors.

PySpark starts the port without a secret, so that any user of this machine could call the functions of running streams.
The JVM's side has the secret of the gateway, but py4j's copy of it for the real port (`PythonClient.copyWith`) leaves
it out, and no public method gives it back. And py4j's server, on which functions of batches and the listener of queries
depend, ends for good when a connection cannot be accepted once.
"""

from __future__ import annotations

import errno
import functools
import socket
import time
from typing import Any, Final

from py4j.java_gateway import server_started
from pyspark.java_gateway import ensure_callback_server_started


def require_secret_of_callbacks(gateway: Any, secret: str) -> None:
    """Starts the port, and has both sides of it use the gateway's `secret`."""
    ensure_callback_server_started(gateway)
    client = gateway.java_gateway_server.getCallbackClient()
    field = client.getClass().getSuperclass().getDeclaredField("authToken")
    field.setAccessible(True)
    field.set(client, secret)
    gateway.callback_server_parameters.auth_token = secret


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

"""Serving the dashboard: in the foreground for `penstock ui`, on a daemon thread for `run --ui`."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass

import uvicorn

from penstock.dashboard.access import Access, access_for
from penstock.dashboard.application import create_application
from penstock.dashboard.live_log import LiveLog
from penstock.errors import ConfigError

DEFAULT_PORT = 8420
_PORTS_TRIED = 20
_STOP_SECONDS = 5.0


def serve(
    storage_uri: str,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    access: Access | None = None,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serves the dashboard of one storage until Ctrl-C or SIGTERM; starts no JVM.

    Args:
        storage_uri: Path or URI of the storage; it may be empty or not exist yet.
        host: A loopback address or `localhost`; another one needs an `access` with a token and TLS.
        access: Who may reach it, from `access_for`; by default this machine.
        port: None takes 8420 or the next free port above it; 0 any free port; else exactly this one.
        on_ready: Called once with the address, e.g. `http://127.0.0.1:8420/`, when it accepts requests.

    Raises:
        ConfigError: DASHBOARD_NOT_LOOPBACK, DASHBOARD_PORT_TAKEN.
    """
    access = access or access_for(host)
    listener = _listen(host, port)
    url = _url(host, listener, access)
    server = _Server(LiveLog(storage_uri), access, on_ready=lambda: on_ready(url) if on_ready else None)
    try:
        server.run(sockets=[listener])
    finally:
        listener.close()


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A dashboard that runs in the background of this process."""

    url: str
    _server: _Server
    _thread: threading.Thread
    _listener: socket.socket

    def stop(self) -> None:
        """Closes the open pages' connections and the port; returns within seconds. May be called again."""
        self._server.close()
        self._thread.join(_STOP_SECONDS)
        self._listener.close()


def start_in_background(
    storage_uri: str, *, host: str = "127.0.0.1", port: int | None = None, access: Access | None = None
) -> Dashboard:
    """Starts the dashboard on a daemon thread and returns when it accepts requests.

    Parameters and errors are those of `serve`. Whatever happens in it, the process that started
    it goes on; the thread ends with the process.
    """
    access = access or access_for(host)
    listener = _listen(host, port)
    ready = threading.Event()
    server = _Server(LiveLog(storage_uri), access, on_ready=ready.set)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="penstock-dashboard", daemon=True)
    thread.start()
    ready.wait(_STOP_SECONDS)
    return Dashboard(_url(host, listener, access), server, thread, listener)


class _Server(uvicorn.Server):
    """uvicorn, quiet, telling when it is ready and letting live connections go when it stops."""

    def __init__(self, log: LiveLog, access: Access, *, on_ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                create_application(log, access),
                ssl_certfile=access.certificate,
                ssl_keyfile=access.key,
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                proxy_headers=False,  # an address is that of a connection: with a header anybody could have another
                lifespan="off",
                ws="none",
                timeout_graceful_shutdown=2,
            )
        )
        self._log = log
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        threading.Thread(target=self._log.read_ahead, name="penstock-dashboard-log", daemon=True).start()
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._log.close()
        await super().shutdown(sockets)

    def close(self) -> None:
        """Asks the loop to end; from any thread."""
        self._log.close()
        self.should_exit = True


def _listen(host: str, port: int | None) -> socket.socket:
    candidates = [*range(DEFAULT_PORT, DEFAULT_PORT + _PORTS_TRIED), 0] if port is None else [port]
    reason = ""
    for candidate in candidates:
        try:
            return _bind(host, candidate)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
    raise ConfigError("DASHBOARD_PORT_TAKEN", host=host, port=candidates[0], reason=reason, another_port=DEFAULT_PORT)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host.strip("[]"), port))
        listener.listen(128)
    except BaseException:
        listener.close()
        raise
    return listener


def _url(host: str, listener: socket.socket, access: Access) -> str:
    bare = host.strip("[]")
    shown = f"[{bare}]" if ":" in bare else bare
    return f"{access.scheme}://{shown}:{listener.getsockname()[1]}/"

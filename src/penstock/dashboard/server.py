"""Serving the dashboard of one storage until it is stopped."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from functools import partial

import uvicorn

from penstock.dashboard.application import create_application
from penstock.dashboard.known_pipeline import KnownPipeline
from penstock.dashboard.log.live_log import LiveLog
from penstock.dashboard.serving.access import Access, access_for
from penstock.dashboard.serving.connections import BoundedProtocol, Connections, Limits
from penstock.dashboard.serving.listener import listen, url_of


def serve(
    storage_uri: str,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    access: Access | None = None,
    pipeline: KnownPipeline | None = None,
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serves the dashboard of one storage until Ctrl-C or SIGTERM; starts no JVM.

    Args:
        storage_uri: Path or URI of the storage; it may be empty or not exist yet.
        host: A loopback address or `localhost`; another one needs an `access` with a token and TLS.
        access: Who may reach it, from `access_for`; by default this machine.
        port: As for `listen`.
        pipeline: What is known of the pipeline besides its storage.
        on_ready: Called once with the address, e.g. `http://127.0.0.1:8420/`, when it accepts requests.

    Raises:
        ConfigError: DASHBOARD_NOT_LOOPBACK, DASHBOARD_PORT_TAKEN.
    """
    access = access or access_for(host)
    with listen(host, port) as listener:
        url = url_of(host, listener, access.scheme)
        ready = partial(on_ready, url) if on_ready is not None else None
        DashboardServer(LiveLog(storage_uri), access, pipeline=pipeline, on_ready=ready).run(sockets=[listener])


class DashboardServer(uvicorn.Server):
    """uvicorn, quiet, with limits on connections, and letting live connections go when it stops.

    `on_ready` is called once it accepts requests.
    """

    def __init__(
        self,
        log: LiveLog,
        access: Access,
        limits: Limits | None = None,
        *,
        pipeline: KnownPipeline | None = None,
        on_ready: Callable[[], None] | None = None,
    ) -> None:
        limits = limits or Limits.of_this_process()
        super().__init__(
            uvicorn.Config(
                create_application(log, access, streams=limits.streams, pipeline=pipeline or KnownPipeline()),
                http=BoundedProtocol,
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
        self._connections = Connections(limits)
        self._accepting: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Called by uvicorn when its loop runs."""
        await super().startup(sockets=[])  # uvicorn's own way of accepting has no limits
        protocol = partial(
            BoundedProtocol,
            self._connections,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )
        self._accepting = [
            asyncio.create_task(self._connections.accept(each, protocol, self.config.ssl)) for each in sockets or []
        ]
        threading.Thread(target=self._log.read_ahead, name="penstock-dashboard-log", daemon=True).start()
        if self._on_ready is not None:
            self._on_ready()

    async def on_tick(self, counter: int) -> bool:
        """Called by uvicorn every tenth of a second."""
        self._connections.close_overdue()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Called by uvicorn at the end of its loop."""
        self._log.close()
        for each in self._accepting:
            each.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        await super().shutdown(sockets)

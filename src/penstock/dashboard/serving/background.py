"""The dashboard of a run, in a process of its own: whatever clients do to it, the run has its own descriptors and time.

The run binds the port and hands the listening socket over. It holds the other end of the process's standard input;
when the run ends, however it ends, the process reads the end of the file and exits.
"""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field

from penstock.dashboard.known_pipeline import KnownPipeline
from penstock.dashboard.serving.access import Access, access_for
from penstock.dashboard.serving.listener import listen, url_of
from penstock.storage.stores.settings import store_settings
from penstock.storage.stores.stores import store_of

_STOP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A dashboard that runs beside this process."""

    url: str
    process: subprocess.Popen[bytes] = field(repr=False)

    def stop(self) -> None:
        """Closes the open pages' connections and the port; returns at once. May be called again."""
        atexit.unregister(self.stop)
        if self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start_in_background(
    storage_uri: str,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    access: Access | None = None,
    pipeline: KnownPipeline | None = None,
) -> Dashboard:
    """Starts the dashboard in a process of its own, which ends with this one.

    Returns at once: requests are answered when the process has started, within a second.

    Args:
        storage_uri: as for `serve`; for a place in an object store, the settings of this process are handed over.
        host: as for `serve`.
        port: as for `listen`.
        access: as for `serve`.
        pipeline: as for `serve`.

    Raises:
        ConfigError: DASHBOARD_NOT_LOOPBACK, DASHBOARD_PORT_TAKEN, SECRET_NOT_FOUND.
    """
    access = access or access_for(host)
    stores = dict(store_settings()) if store_of(storage_uri) is not None else {}
    with listen(host, port) as listener:
        process = subprocess.Popen(
            # -P: a user's file in the current folder must not stand in for a module
            [sys.executable, "-P", "-m", "penstock.dashboard", str(listener.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
            start_new_session=True,  # Ctrl-C is for the run; the dashboard shows how it stops
        )
        dashboard = Dashboard(url_of(host, listener, access.scheme), process)
    atexit.register(dashboard.stop)
    document = {
        "storage": storage_uri,
        "access": access.to_json(),
        "stores": stores,
        "pipeline": (pipeline or KnownPipeline()).to_json(),
    }
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # it has ended already; the run goes on
        process.stdin.write(f"{json.dumps(document)}\n".encode())
        process.stdin.flush()
    return dashboard

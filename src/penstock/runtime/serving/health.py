"""The health page of an SQL endpoint: one JSON document, for this machine only."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from penstock.config.values.authority import Authority
from penstock.errors import ConfigError

_LOOPBACK: Final = "127.0.0.1"
_SECONDS: Final = 10.0


class HealthPage:
    """Answers GET `/health` on the loopback address with what `state` returns, until it is closed.

    Raises:
        ConfigError: SERVE_PORT_TAKEN.
    """

    def __init__(self, port: int, state: Callable[[], Mapping[str, Any]]) -> None:
        handler = type("Handler", (_Handler,), {"state": staticmethod(state)})
        try:
            self._server = http.server.ThreadingHTTPServer((_LOOPBACK, port), handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ConfigError("SERVE_PORT_TAKEN", address=_LOOPBACK, port=port, reason=reason) from None
        self._server.daemon_threads = True
        self.url = f"http://{_LOOPBACK}:{self._server.server_address[1]}/health"
        threading.Thread(target=self._server.serve_forever, name="health page", daemon=True).start()

    def close(self) -> None:
        """Stops answering."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    """One request; nothing of it is logged."""

    state: Callable[[], Mapping[str, Any]]
    timeout = _SECONDS
    server_version = "penstock"
    sys_version = ""

    def do_GET(self) -> None:
        """Answers with the state; a name that is not this machine's own is a web page that rebinds its name."""
        host = Authority.parse(self.headers.get("Host", ""))
        if host is None or not host.is_loopback():
            self.send_error(403)
        elif self.path != "/health":
            self.send_error(404)
        else:
            body = json.dumps(self.state()).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Writes nothing."""

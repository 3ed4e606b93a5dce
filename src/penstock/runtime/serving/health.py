"""The health page of an SQL endpoint: one JSON document, for this machine only."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from penstock.access.bounded_http import BoundedServer, QuietHandler
from penstock.errors import ConfigError

_LOOPBACK: Final = "127.0.0.1"


class HealthPage:
    """Answers GET `/health` on the loopback address with what `state` returns, until it is closed.

    Raises:
        ConfigError: SERVE_PORT_TAKEN.
    """

    def __init__(self, port: int, state: Callable[[], Mapping[str, Any]]) -> None:
        handler = type("Handler", (_Handler,), {"state": staticmethod(state)})
        try:
            self._server = BoundedServer((_LOOPBACK, port), handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ConfigError("SERVE_PORT_TAKEN", address=_LOOPBACK, port=port, reason=reason) from None
        self.url = f"http://{_LOOPBACK}:{self._server.port}/health"
        self._server.start("health page")

    def close(self) -> None:
        """Stops answering."""
        self._server.close()


class _Handler(QuietHandler):
    state: Callable[[], Mapping[str, Any]]

    def respond(self) -> None:
        if not self.names_this_machine():
            self.answer(403, "text/plain", b"The health page is for this machine only.\n")
        elif self.path != "/health":
            self.answer(404, "text/plain", b"The health page is at /health.\n")
        else:
            self.answer(200, "application/json", json.dumps(self.state()).encode())

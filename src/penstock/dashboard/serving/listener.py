"""The address on which the dashboard listens."""

from __future__ import annotations

import socket
from typing import Final

from penstock.errors import ConfigError

DEFAULT_PORT: Final = 8420
_PORTS_TRIED: Final = 20
_BACKLOG: Final = 128


def listen(host: str, port: int | None) -> socket.socket:
    """Returns a listening socket.

    Args:
        host: an address of this machine.
        port: None takes 8420 or the next free port above it; 0 any free port; else exactly this one.

    Raises:
        ConfigError: DASHBOARD_PORT_TAKEN.
    """
    candidates = [*range(DEFAULT_PORT, DEFAULT_PORT + _PORTS_TRIED), 0] if port is None else [port]
    reason = ""
    for candidate in candidates:
        try:
            return _bind(host, candidate)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
    raise ConfigError("DASHBOARD_PORT_TAKEN", host=host, port=candidates[0], reason=reason, another_port=DEFAULT_PORT)


def url_of(host: str, listener: socket.socket, scheme: str) -> str:
    """Returns the address of the dashboard's first page."""
    bare = host.strip("[]")
    shown = f"[{bare}]" if ":" in bare else bare
    return f"{scheme}://{shown}:{listener.getsockname()[1]}/"


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host.strip("[]"), port))
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener

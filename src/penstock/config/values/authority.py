"""The host and port that a request names: RFC 3986's authority without a user, parsed strictly."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

_AUTHORITY: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)\.?)(?::([0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class Authority:
    """A host, in lower case and without brackets or a final dot, and a port if one was given."""

    host: str
    port: int | None

    @staticmethod
    def parse(text: str) -> Authority | None:
        """Returns what `text` (`localhost:8420`, `[::1]`) names; None for anything else, before or after it too."""
        found = _AUTHORITY.fullmatch(text)
        if found is None:
            return None
        address, name, digits = found.groups()
        port = None if digits is None else int(digits)
        if port is not None and not 0 < port < 65536:
            return None
        if address is None:
            return Authority(name.casefold(), port)
        try:
            return Authority(ipaddress.IPv6Address(address).compressed, port)
        except ValueError:
            return None

    def is_loopback(self) -> bool:
        """Whether the host is this machine's own name or address for itself; nothing is looked up."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine's own name or address for itself; nothing is looked up."""
    if host.rstrip(".").casefold() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False

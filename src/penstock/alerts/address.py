"""Which addresses a message may go to: never to a service that only this machine's provider offers."""

from __future__ import annotations

import ipaddress
import socket
from typing import Final

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_METADATA: Final = {
    ipaddress.ip_address(address)
    for address in ("169.254.169.254", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254")
}
"""Where clouds serve a machine its credentials, to whoever on it asks."""

_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


def refusal(address: str) -> str | None:
    """Returns why nothing may be sent to an IP address, None when it may. An address inside another one counts."""
    for each in _meanings(ipaddress.ip_address(address.partition("%")[0])):
        if each in _METADATA:
            return "it gives this machine's credentials to any client"
        if each.is_link_local:
            return "link-local addresses lead to services of this machine's network only"
        if each.is_unspecified or each.is_multicast:
            return "it is no address of one receiver"
        if isinstance(each, ipaddress.IPv4Address) and each.is_reserved:
            return "it is no address of one receiver"
    return None


def is_loopback(address: str) -> bool:
    """Returns whether an IP address is this machine's own, whatever form it is written in."""
    return any(each.is_loopback for each in _meanings(ipaddress.ip_address(address.partition("%")[0])))


def addresses_of(host: str, port: int) -> list[str]:
    """Returns the IP addresses of a host, each once, in the order in which they are to be tried.

    Raises:
        OSError: the name is not known, or no name server answers.
    """
    found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _meanings(address: _Address) -> list[_Address]:
    """Returns the address, and the IPv4 addresses that it stands for."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        inner.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return [address, *(each for each in inner if each is not None)]

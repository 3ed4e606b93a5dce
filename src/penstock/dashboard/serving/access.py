"""Who may reach the dashboard: this machine, or others with a token over TLS."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from starlette.datastructures import Headers

from penstock.config.values.authority import Authority, is_loopback
from penstock.errors import ConfigError

SHORTEST_TOKEN: Final = 22  # characters: 128 bits in Base64
FEWEST_CHARACTERS: Final = 10  # that differ
SESSION_SECONDS: Final = 12 * 3600
TOKEN_VARIABLE: Final = "PENSTOCK_UI_TOKEN"  # noqa: S105 - a name, not a token


@dataclass(frozen=True, slots=True)
class Access:
    """The rules of one dashboard.

    Attributes:
        hosts: names besides those of this machine for itself under which it may be requested, in lower case.
        token: what a reader has to know; None asks for nothing.
        certificate, key: files for TLS; None for plain HTTP.
        run_command: the command line of `penstock run`, with which pages may start runs, and may stop them; None
            lets pages change nothing.
        user_header: the header in which a proxy names the user; the proxy proves itself by the token.
    """

    hosts: frozenset[str] = frozenset()
    token: str | None = field(default=None, repr=False)
    certificate: str | None = None
    key: str | None = None
    run_command: tuple[str, ...] | None = None
    user_header: str | None = None

    @property
    def actions(self) -> bool:
        """Whether pages may stop and start runs."""
        return self.run_command is not None

    @property
    def secure(self) -> bool:
        """Whether TLS is used."""
        return self.certificate is not None

    @property
    def scheme(self) -> str:
        """`https` with TLS, else `http`."""
        return "https" if self.secure else "http"

    def to_json(self) -> dict[str, Any]:
        """Returns what `from_json` reads, token included: for a pipe to the dashboard's process."""
        return {**asdict(self), "hosts": sorted(self.hosts)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Access:
        """Returns the rules that `to_json` wrote."""
        command = value["run_command"]
        return cls(**{**value, "hosts": frozenset(value["hosts"]), "run_command": command and tuple(command)})

    def admits_host(self, authority: Authority) -> bool:
        """Whether a request may name the dashboard so; the port is free, because of tunnels."""
        return authority.is_loopback() or authority.host in self.hosts

    def is_token(self, given: str) -> bool:
        """Whether `given` is the token; takes as long for any text."""
        return self.token is not None and hmac.compare_digest(_digest(given), _digest(self.token))

    def user_of(self, headers: Headers) -> str | None:
        """Returns whom a proxy that sends the token as a bearer token names; None for a request without both."""
        if self.user_header is None or not self.is_token(bearer_token(headers) or ""):
            return None
        named = headers.getlist(self.user_header)
        return (named[0].strip() or None) if len(named) == 1 else None  # of two, one may be the browser's

    def session(self, now: float | None = None) -> str:
        """Returns the value of a cookie that replaces the token for twelve hours, and does not reveal it."""
        ends = str(int((time.time() if now is None else now) + SESSION_SECONDS))
        return f"{ends}.{self._signature(ends)}"

    def is_session(self, given: str, now: float | None = None) -> bool:
        """Whether `given` is the value of a session that has not ended; another token ends all sessions."""
        ends, _, signature = given.partition(".")
        if not ends.isascii() or not ends.isdecimal() or len(ends) > 12:
            return False
        genuine = hmac.compare_digest(signature.encode("utf-8", "replace"), self._signature(ends).encode())
        return genuine and int(ends) > (time.time() if now is None else now)

    def _signature(self, ends: str) -> str:
        return hmac.new((self.token or "").encode(), f"penstock dashboard {ends}".encode(), hashlib.sha256).hexdigest()


def bearer_token(headers: Headers) -> str | None:
    """Returns the token of `Authorization: Bearer …`, None without such a header."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.casefold() == "bearer" else None


def access_for(
    host: str,
    *,
    token_file: str | None = None,
    certificate: str | None = None,
    key: str | None = None,
    allowed_hosts: Sequence[str] = (),
    run_command: Sequence[str] | None = None,
    user_header: str | None = None,
) -> Access:
    """Returns the rules for a dashboard that listens on `host`.

    The token is the first line of `token_file`, else the environment variable PENSTOCK_UI_TOKEN. An address that other
    machines can reach needs the token and TLS. With `run_command`, the command line of `penstock run`, pages may stop
    and start runs, which needs a token as well: other users of this machine reach loopback addresses too. So does
    `user_header`, in which anyone could name anyone.

    Raises:
        ConfigError: DASHBOARD_NOT_LOOPBACK, DASHBOARD_OPTION_INVALID.
    """
    token = _token(token_file)
    if (certificate is None) != (key is None):
        raise _invalid("--tls-cert" if certificate is None else "--tls-key", "one of the two files is missing")
    if certificate is not None:
        _check_certificate(certificate, str(key))
    if run_command is not None and token is None:
        raise _invalid("--allow-actions", "it needs a token, see --token-file")
    if user_header is not None and token is None:
        raise _invalid("--user-header", "it needs a token, which the proxy sends, see --token-file")
    missing = [words for words, given in (("a token", token), ("TLS", certificate)) if given is None]
    if not is_loopback(host) and missing:
        raise ConfigError(
            "DASHBOARD_NOT_LOOPBACK", host=host, missing=" and ".join(missing), user_at_machine="user@this-machine"
        )
    named = {socket.gethostname(), *([] if _is_any(host) else [host])}
    allowed = frozenset(_allowed(name) for name in allowed_hosts)
    hosts = allowed if is_loopback(host) and not allowed else allowed | {_bare(name) for name in named}
    return Access(hosts, token, certificate, key, None if run_command is None else tuple(run_command), user_header)


def _token(file: str | None) -> str | None:
    if file is None:
        token = os.environ.get(TOKEN_VARIABLE)
        source = TOKEN_VARIABLE
    else:
        source = "--token-file"
        try:
            with open(file, encoding="utf-8") as opened:
                token = opened.readline().strip()
        except (OSError, ValueError) as error:
            raise _invalid(source, getattr(error, "strerror", None) or "it is no text") from error
    if token is not None and (len(token) < SHORTEST_TOKEN or len(set(token)) < FEWEST_CHARACTERS):
        expected = f"{SHORTEST_TOKEN} characters, {FEWEST_CHARACTERS} of them different"
        raise _invalid(
            source, f"a token that cannot be guessed has at least {expected}; openssl rand -hex 32 makes one"
        )
    return token


def _check_certificate(certificate: str, key: str) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ssl.SSLError) as error:
        raise _invalid("--tls-cert and --tls-key", getattr(error, "strerror", None) or str(error)) from error


def _invalid(option: str, reason: str) -> ConfigError:
    return ConfigError("DASHBOARD_OPTION_INVALID", option=option, reason=reason)


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return False


def _bare(name: str) -> str:
    authority = Authority.parse(f"[{name.strip('[]')}]" if ":" in name else name)
    return "" if authority is None else authority.host


def _allowed(name: str) -> str:
    authority = Authority.parse(f"[{name}]" if ":" in name and not name.startswith("[") else name)
    if authority is None or authority.port is not None:
        raise _invalid("--allow-host", f"'{name}' is no host name or address without a port")
    return authority.host


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()

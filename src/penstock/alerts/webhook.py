"""A webhook: a POST request with the message as JSON, signed as the Standard Webhooks specification says."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import http.client
import socket
import ssl
import time
from typing import Final
from urllib.parse import urlsplit

from penstock.alerts.address import addresses_of, is_loopback, refusal
from penstock.alerts.message import Message, NotDelivered
from penstock.config import SecretReference, Webhook
from penstock.errors import ConfigError

TIMEOUT_SECONDS: Final = 10.0
_PASSING: Final = {408, 425, 429}
_PREFIX: Final = "whsec_"


def send_webhook(name: str, webhook: Webhook, message: Message, *, timeout: float = TIMEOUT_SECONDS) -> None:
    """Posts the message once. Redirects are not followed, and proxies are not used.

    The connection goes to an address that was checked, so that a name which changes its address cannot lead elsewhere.

    Raises:
        NotDelivered: the receiver did not answer, or not with 2xx.
        ConfigError: ALERT_ADDRESS_REFUSED, SECRET_NOT_FOUND.
    """
    url = webhook.url.resolve() if isinstance(webhook.url, SecretReference) else webhook.url
    body = message.body()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "penstock",
        **signature_headers(message.id, int(time.time()), body, webhook.secret),
    }
    try:
        connection = _connection(name, url, webhook, timeout)
        try:
            parts = urlsplit(url)
            connection.request("POST", parts._replace(scheme="", netloc="", fragment="").geturl() or "/", body, headers)
            status = connection.getresponse().status
        finally:
            connection.close()
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise NotDelivered(_reason(error), passing=not isinstance(error, ssl.SSLCertVerificationError)) from None
    if not 200 <= status < 300:
        raise NotDelivered(f"it answered {status}", passing=status >= 500 or status in _PASSING)


def signature_headers(message_id: str, timestamp: int, body: bytes, secret: SecretReference | None) -> dict[str, str]:
    """Returns the headers by which a receiver knows who sent a request, and when.

    The signature is the HMAC-SHA256 of id, time and body, with points between them, by `secret`: its text, or what
    stands in Base64 behind `whsec_`.
    """
    headers = {"webhook-id": message_id, "webhook-timestamp": str(timestamp)}
    if secret is not None:
        signed = f"{message_id}.{timestamp}.".encode() + body
        digest = hmac.new(_key(secret.resolve()), signed, hashlib.sha256).digest()
        headers["webhook-signature"] = f"v1,{base64.b64encode(digest).decode()}"
    return headers


def _key(secret: str) -> bytes:
    if secret.startswith(_PREFIX):
        try:
            return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
        except binascii.Error:
            pass
    return secret.encode()


def _connection(name: str, url: str, webhook: Webhook, timeout: float) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    host = parts.hostname or ""
    secure = parts.scheme == "https"
    if not host or parts.scheme not in {"http", "https"}:
        why = "it is neither https:// nor http://" if host else "it has no host"
        raise ConfigError("ALERT_ADDRESS_REFUSED", destination=name, address="no web address", reason=why)
    port = parts.port or (443 if secure else 80)
    addresses = addresses_of(host, port)
    for address in addresses:
        reason = refusal(address)
        if not secure and not (webhook.allow_loopback_http and is_loopback(address)):
            reason = "only https:// keeps others from reading the message"
        if reason is not None:
            raise ConfigError("ALERT_ADDRESS_REFUSED", destination=name, address=address, reason=reason)
    plain = _reach(addresses, port, timeout)
    connection = http.client.HTTPConnection(host, port, timeout=timeout)
    connection.sock = plain
    if secure:
        try:
            trusted = ssl.create_default_context(cafile=webhook.ca_file)
            connection.sock = trusted.wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise
        connection.default_port = http.client.HTTPS_PORT
    return connection


def _reach(addresses: list[str], port: int, timeout: float) -> socket.socket:
    failure: OSError | None = None
    for address in addresses:
        try:
            return socket.create_connection((address, port), timeout)
        except OSError as error:
            failure = error
    raise failure or OSError("the host has no address")


def _reason(error: Exception) -> str:
    """Says what failed without the address: the path of a webhook is often its only secret."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return f"it is no web server ({type(error).__name__})"

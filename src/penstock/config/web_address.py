"""Addresses of receivers: shown when they stand in the file, hidden when they are secrets."""

from __future__ import annotations

from urllib.parse import urlsplit

from penstock.config.references import Reference, reference
from penstock.config.secret import REFERENCE
from penstock.errors import ConfigError


def web_address(key: str, text: str) -> str | Reference:
    """Parses an address that is shown, or a reference to one that is not."""
    if REFERENCE.search(text):
        return reference(key, text)
    parts = urlsplit(text)
    if parts.username is not None or parts.password is not None:
        raise ConfigError("CONFIG_SECRET_LITERAL", secret=key)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(
            "CONFIG_INVALID_VALUE",
            key=key,
            value=text,
            expected="an address that begins with https://, or a reference to a secret",
            example="https://alerts.example.com/penstock",
        )
    return text

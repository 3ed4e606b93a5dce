"""References to secrets in sections of a pipeline file: found, and put in the place of their text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from penstock.config.reader import Placed
from penstock.config.values.secret import REFERENCE, SecretReference
from penstock.errors import ConfigError, SourceLocation


@dataclass(frozen=True, slots=True)
class Reference:
    """What a value refers to: `env`, `file` or `secret`, and the variable, the path or the name."""

    source: str
    target: str


def reference(key: str, text: str) -> Reference:
    """Parses a value that must be a reference; the text of anything else is not repeated, it may be the secret."""
    match = REFERENCE.fullmatch(text)
    if match is None or not match.group(2):
        raise ConfigError("CONFIG_SECRET_LITERAL", secret=key)
    return Reference(match.group(1), match.group(2))


def references_in(key: str, placed: Placed) -> Iterator[tuple[str, Reference, SourceLocation]]:
    """Yields the key, the reference and the place of each reference in a section, however deep."""
    if isinstance(placed.value, Reference):
        yield key, placed.value, placed.location
    elif isinstance(placed.value, Mapping):
        for name, inner in placed.value.items():
            yield from references_in(f"{key}.{name}", inner)


def values_of(key: str, placed: Placed, references: Mapping[str, SecretReference]) -> Any:
    """Returns the values of a section without their places, with `references` by their key."""
    if isinstance(placed.value, Reference):
        return references[key]
    if isinstance(placed.value, Mapping):
        return {name: values_of(f"{key}.{name}", inner, references) for name, inner in placed.value.items()}
    return placed.value


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

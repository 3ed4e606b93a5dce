"""Which settings and options hold secrets, by their names: to redact them, and to find those in clear text."""

from __future__ import annotations

import re
from typing import Final

_NAMES: Final = (
    "secret|passw|passphrase|access[._-]?key|account[._-]?key|api[._-]?key|provided-key|credential|connectionstring"
)

REDACTED_KEYS: Final = f"(?i){_NAMES}|token|private|jaas|sasl"
"""The keys whose values are never shown, for Python and for Java; too many rather than too few."""

_SECRET: Final = re.compile(rf"{_NAMES}|token(?!iz|s)|private[._-]?key", re.IGNORECASE)
_LOGIN: Final = re.compile(rf"{_SECRET.pattern}|jaas", re.IGNORECASE)
_PLACE: Final = re.compile(r"provider|\.enabled$|\.impl$|path$|file$|location$|class$", re.IGNORECASE)
"""Names of settings that say where a secret is, or who gives it."""

_MEASURES: Final = (
    "retries|backoff|interval|period|timeout|lifetime|duration|expiry|ttl|ratio|wait|length|size|bits|count|limit|max|min"
    "|ms|millis|seconds|minutes|hours|days|url|uri|endpoint|type|algorithm|binding|alias|name|names"
)
_ABOUT: Final = re.compile(
    rf"(?:^|[._-])(?i:{_MEASURES})(?:\.for\.\w+)?$|(?<=[a-z])(?:{_MEASURES.title()})$",
)
"""Names that end with what is counted, measured or named: `token.fetch.retry.max.retries`, `tokenLifetime`."""

_IN_TEXT: Final = re.compile(
    r"""(?:password|SharedAccessKey|AccountKey)\s*=\s*["']?(?P<value>[^"';\s]+)""", re.IGNORECASE
)
_PLACEHOLDER: Final = re.compile(r"^$|[<>{}*$%]|^(?:x+|\.+|none|null|changeme|your[-_ ].*|my[-_ ].*)$", re.IGNORECASE)


def names_secret(name: str) -> bool:
    """Returns whether a setting of this name holds a secret, or a login that may: no placeholder belongs there."""
    return bool(_LOGIN.search(name)) and not _PLACE.search(name) and not _ABOUT.search(name)


def is_secret(name: str, text: str) -> bool:
    """Returns whether the value of a setting or option is a secret in clear text, and no placeholder or reference."""
    inside = _IN_TEXT.search(text)
    if inside is not None:
        return not _PLACEHOLDER.search(inside["value"])
    if not _SECRET.search(name) or _PLACE.search(name) or _ABOUT.search(name):
        return False
    return not _PLACEHOLDER.search(text) and text.casefold() not in {"true", "false"}

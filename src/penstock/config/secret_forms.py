"""How a secret can look in a text: as it is, escaped, encoded for a URL, or inside Base64."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus

_SHORTEST_IN_BASE64: Final = 6  # of fewer bytes, what is left when both ends are cut off could be any word
_BASE64: Final = r"[A-Za-z0-9+/_-]?"


def pattern_of(values: Iterable[str]) -> str:
    """Returns a regular expression, for Python and for Java, of all forms of `values`; empty if there are none."""
    forms = {form for value in values if value for form in _forms(value)}
    return "|".join(sorted(forms, key=lambda form: (-len(form), form)))  # the longest that fits first


def _forms(value: str) -> Iterator[str]:
    for text in (value, html.escape(value), repr(value)[1:-1], *_as_json(value), *_in_urls(value)):
        yield re.escape(text)
    content = value.encode("utf-8", "surrogateescape")
    if len(content) >= _SHORTEST_IN_BASE64:
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            for before in range(3):
                # What stands before the secret, `user:` for instance, shifts it by 0, 1 or 2 bytes. A letter at
                # either end can hold bits of its neighbours as well.
                encoded = encode(bytes(before) + content).decode("ascii")
                own = encoded[(before * 8 + 5) // 6 : (before + len(content)) * 8 // 6]
                yield f"{_BASE64}{re.escape(own)}{_BASE64}"


def _as_json(value: str) -> Iterator[str]:
    for ascii_only in (True, False):
        yield json.dumps(value, ensure_ascii=ascii_only)[1:-1]


def _in_urls(value: str) -> Iterator[str]:
    for text in (
        quote(value, safe="", errors="replace"),
        quote(value, errors="replace"),
        quote_plus(value, errors="replace"),
    ):
        yield text
        yield re.sub("%[0-9A-F]{2}", lambda found: found.group(0).lower(), text)

"""Search filters (RFC 4515) with placeholders, which are replaced in the values only: a name cannot change a filter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from penstock.runtime.serving.ldap import ber

_AND, _OR, _NOT, _EQUAL, _PRESENT, _EXTENSIBLE = 0xA0, 0xA1, 0xA2, 0xA3, 0x87, 0xA9
_RULE, _ATTRIBUTE, _VALUE, _DN_TOO = 0x81, 0x82, 0x83, 0x84
_ITEM: Final = re.compile(r"([A-Za-z][\w.;-]*)((?::dn)?)(?::([\w.-]+))?(:?=)([^()]*)")
_ESCAPED: Final = re.compile(r"\\([0-9a-fA-F]{2})")
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")


def encoded(text: str, values: Mapping[str, str]) -> bytes:
    """Returns a filter as LDAP encodes it, with `values` for its placeholders, such as `{dn}`.

    Raises:
        ValueError: it is no filter, or of a kind that is not taken: parts of values (`*`), and `>=`, `<=`, `~=`.
    """
    whole, rest = _filter(text.strip(), values)
    if rest:
        raise ValueError(f"'{rest}' is behind its end")
    return whole


def _filter(text: str, values: Mapping[str, str]) -> tuple[bytes, str]:
    if not text.startswith("("):
        raise ValueError(f"it has no '(' before '{text}'")
    kind = text[1:2]
    if kind in ("&", "|", "!"):
        members, rest = [], text[2:]
        while rest.startswith("("):
            member, rest = _filter(rest, values)
            members.append(member)
        if not members or (kind == "!" and len(members) > 1):
            raise ValueError(f"'{text}' has not what '{kind}' needs")
        encoding = ber.value({"&": _AND, "|": _OR, "!": _NOT}[kind], *members)
    else:
        found = _ITEM.match(text, 1)
        if found is None:
            raise ValueError(f"'{text}' is no comparison with =")
        encoding, rest = _item(found, values), text[found.end() :]
    if not rest.startswith(")"):
        raise ValueError(f"it has no ')' before '{rest}'")
    return encoding, rest[1:]


def _item(found: re.Match[str], values: Mapping[str, str]) -> bytes:
    attribute, dn_too, rule, equals, pattern = found.groups()
    if pattern == "*" and equals == "=" and not (rule or dn_too):
        return ber.text(attribute, _PRESENT)
    if "*" in pattern:
        raise ValueError(f"'{pattern}' is a part of a value")
    if (equals == ":=") != bool(rule or dn_too):
        raise ValueError(f"'{found[0]}' is no comparison with =")
    value = _value(pattern, values)
    if equals == "=":
        return ber.value(_EQUAL, ber.text(attribute), ber.value(ber.OCTETS, value))
    named = ber.text(rule, _RULE) if rule else b""
    below = ber.value(_DN_TOO, b"\xff") if dn_too else b""
    return ber.value(_EXTENSIBLE, named, ber.text(attribute, _ATTRIBUTE), ber.value(_VALUE, value), below)


def _value(pattern: str, values: Mapping[str, str]) -> bytes:
    whole = b""
    for index, piece in enumerate(_PLACEHOLDER.split(pattern)):
        if index % 2:
            if piece not in values:
                raise ValueError(f"{{{piece}}} stands for nothing")
            whole += values[piece].encode()
            continue
        for part, text in enumerate(_ESCAPED.split(piece)):
            whole += bytes.fromhex(text) if part % 2 else text.encode()
    return whole

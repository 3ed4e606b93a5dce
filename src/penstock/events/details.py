"""Reads single values of an event's details, which another version, or a damaged line, may have in another shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any


def total(part: Mapping[str, Any], name: str) -> int:
    """Returns a number of a part, 0 where there is none."""
    value = part.get(name)
    return value if isinstance(value, int) else 0


def moment(part: Mapping[str, Any], name: str) -> datetime | None:
    """Returns a time of a part, None where there is none."""
    value = part.get(name)
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def text(part: Mapping[str, Any], name: str) -> str | None:
    """Returns a text of a part, None where there is none or an empty one."""
    value = part.get(name)
    return None if value is None or value == "" else str(value)


def texts(part: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Returns a list of texts of a part, an empty one where there is none."""
    value = part.get(name)
    return tuple(map(str, value)) if isinstance(value, list) else ()


def mapping(part: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """Returns an object of a part, None where there is none."""
    value = part.get(name)
    return value if isinstance(value, dict) else None


def mappings(part: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    """Yields the objects of a list of a part."""
    value = part.get(name)
    return (each for each in (value if isinstance(value, list) else ()) if isinstance(each, dict))

"""Which types a stored column accepts, on the JSON form of Spark's types. Pure."""

from __future__ import annotations

import re
from typing import Any

_WHOLE = {"byte": 3, "short": 5, "integer": 10, "long": 20}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")


def fits(incoming: Any, stored: Any) -> bool:
    """Whether each value of type `incoming` can be stored in a column of type `stored` as it is.

    Fields that a stored struct does not have yet are added by Delta, those that no longer come stay.
    """
    if isinstance(incoming, dict) and isinstance(stored, dict) and incoming.get("type") == stored.get("type"):
        match incoming["type"]:
            case "struct":
                fields = {field["name"].casefold(): field["type"] for field in stored["fields"]}
                return all(
                    fits(field["type"], fields[field["name"].casefold()])
                    for field in incoming["fields"]
                    if field["name"].casefold() in fields
                )
            case "array":
                return fits(incoming["elementType"], stored["elementType"])
            case "map":
                return fits(incoming["keyType"], stored["keyType"]) and fits(incoming["valueType"], stored["valueType"])
    incoming, stored = _plain(incoming), _plain(stored)
    return incoming in (stored, "void") or _holds(stored, incoming)


def widens(stored: Any, wanted: Any) -> bool:
    """Whether Delta can change a column from `stored` to `wanted` without rewriting a file.

    A byte and a short become a decimal only where an integer would: `isTypeChangeSupported` of Delta's `TypeWidening`.
    """
    stored, wanted = _plain(stored), _plain(wanted)
    whole = isinstance(stored, str) and stored in {"byte", "short"}
    return _holds(wanted, "integer" if whole and str(wanted).startswith("decimal") else stored)


def _holds(wanted: Any, stored: Any) -> bool:
    """Whether a type has every value of another one."""
    if not isinstance(stored, str) or not isinstance(wanted, str):
        return False
    before, after = _digits(stored), _digits(wanted)
    if stored in _WHOLE and wanted in _WHOLE:
        return _WHOLE[stored] < _WHOLE[wanted]
    if wanted == "double":
        return stored in {"byte", "short", "integer", "float"}
    if (stored, wanted) == ("date", "timestamp_ntz"):
        return True
    if after is None or wanted in _WHOLE or before is None:
        return False
    return stored != wanted and after[1] >= before[1] and after[0] - after[1] >= before[0] - before[1]


def _digits(kind: str) -> tuple[int, int] | None:
    """Precision and scale of a number type that a decimal can hold."""
    if kind in _WHOLE:
        return _WHOLE[kind], 0
    found = _DECIMAL.fullmatch(kind)
    return None if found is None else (int(found.group(1)), int(found.group(2)))


def _plain(kind: Any) -> Any:
    """Without what does not matter to the question: text is text, however long it may be."""
    return "string" if isinstance(kind, str) and re.match(r"(varchar|char)\(|string collate", kind) else kind

"""What a target of change flows must hold, computed from the events in plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Event:
    """One change: `kind` is U, D or T; `values` are the columns besides the key; of them, `names` change (all)."""

    key: int
    at: Any
    kind: str
    values: Mapping[str, Any]
    names: frozenset[str] | None = None


@dataclass(frozen=True)
class Settings:
    ignoring: frozenset[str] = frozenset()
    tracked: frozenset[str] | None = None
    named: bool = False


def newest_rows(events: Iterable[Event], settings: Settings) -> list[Row]:
    """SCD type 1: replays each key's events in the order of their sequence."""
    events = sorted(events, key=lambda event: event.at)
    rows: dict[int, Row] = {}
    for event in events:
        match event.kind:
            case "T":
                rows.clear()
            case "D":
                rows.pop(event.key, None)
            case _:
                rows[event.key] = _merged(rows.get(event.key), event, settings)
    return list(rows.values())


def histories(events: Iterable[Event], settings: Settings) -> list[Row]:
    """SCD type 2: one row for each stretch in which the tracked columns do not change."""
    by_key: dict[int, list[Event]] = defaultdict(list)
    for event in sorted(events, key=lambda event: event.at):
        by_key[event.key].append(event)
    found: list[Row] = []
    for series in by_key.values():
        current: Row | None = None
        for event in series:
            if event.kind == "D":
                if current is not None:
                    current["__END_AT"] = event.at
                current = None
                continue
            row = _merged(current, event, settings)
            tracked = row.keys() - {"id"} if settings.tracked is None else settings.tracked
            if current is not None and all(current[name] == row[name] for name in tracked):
                current |= row
                continue
            if current is not None:
                current["__END_AT"] = event.at
            current = row | {"__START_AT": event.at, "__END_AT": None}
            found.append(current)
    return found


def _merged(before: Row | None, event: Event, settings: Settings) -> Row:
    row: Row = {"id": event.key}
    for name, value in event.values.items():
        if event.names is not None and name not in event.names:
            row[name] = None if before is None else before[name]
        elif value is None and name in settings.ignoring and before is not None:
            row[name] = before[name]
        else:
            row[name] = value
    return row

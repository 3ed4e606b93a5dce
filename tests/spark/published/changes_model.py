"""What change data capture must leave in a table, computed from all events at once, in any order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Row = dict[str, Any]
Is = Callable[[Row], bool]


def _never(_: Row) -> bool:
    return False


def current(
    events: Iterable[Row],
    *,
    keys: Sequence[str],
    order: Callable[[Row], Any],
    columns: Sequence[str],
    deletes: Is = _never,
    truncates: Is = _never,
) -> list[Row]:
    """SCD type 1: the newest event of each key, if it is no delete and newer than every truncate."""
    events = list(events)
    emptied = max((order(event) for event in events if truncates(event)), default=None)
    newest: dict[tuple[Any, ...], Row] = {}
    for event in events:
        key = tuple(event[name] for name in keys)
        if not truncates(event) and (key not in newest or order(event) > order(newest[key])):
            newest[key] = event
    return [
        {name: event[name] for name in columns}
        for event in newest.values()
        if not deletes(event) and (emptied is None or order(event) > emptied)
    ]


def history(
    events: Iterable[Row],
    *,
    keys: Sequence[str],
    order: Callable[[Row], Any],
    columns: Sequence[str],
    deletes: Is = _never,
    tracked: Sequence[str] | None = None,
) -> list[Row]:
    """SCD type 2: a row for each run of events with the same tracked values, until the next one or a delete."""
    by_key: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for event in events:
        by_key[tuple(event[name] for name in keys)].append(event)
    rows: list[Row] = []
    for theirs in by_key.values():
        opened: Row | None = None
        for event in sorted(theirs, key=order):
            values = {name: event[name] for name in columns}
            if opened is not None and not deletes(event) and _same(opened, values, tracked or columns):
                opened.update(values)
                continue
            if opened is not None:
                opened["__END_AT"] = order(event)
                opened = None
            if not deletes(event):
                opened = values | {"__START_AT": order(event), "__END_AT": None}
                rows.append(opened)
    return rows


def snapshot_history(snapshots: Mapping[Any, Sequence[Row]], keys: Sequence[str]) -> list[Row]:
    """SCD type 2 of whole tables by version: rows that disappear end, rows that differ end and begin."""
    rows: list[Row] = []
    live: dict[tuple[Any, ...], Row] = {}
    for version, snapshot in snapshots.items():
        seen = {tuple(row[name] for name in keys): row for row in snapshot}
        for key in list(live):
            opened = live[key]
            if key not in seen or not _same(opened, seen[key], list(seen[key])):
                opened["__END_AT"] = version
                del live[key]
        for key, row in seen.items():
            if key not in live:
                live[key] = row | {"__START_AT": version, "__END_AT": None}
                rows.append(live[key])
    return rows


def _same(one: Row, other: Row, columns: Iterable[str]) -> bool:
    return all(one[name] == other[name] for name in columns)

"""How a table differs from the rows that a test expects, as text to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

Row = Mapping[str, Any]

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two tables are compared: `tolerance` is by how much two floats may differ, `key` what a row is known by."""

    ignore_order: bool = True
    tolerance: float = 0.0
    key: tuple[str, ...] = ()

    def differences(self, found: Sequence[Row], expected: Sequence[Row]) -> list[str]:
        """Returns the differences in the columns of `expected` as lines; none when there is none."""
        columns = list(dict.fromkeys(name for row in expected for name in row))
        if found and (unknown := [name for name in columns if name not in found[0]]):
            return [f"the table has no column {', '.join(unknown)}; its columns are {', '.join(found[0])}"]
        left = [{name: row[name] for name in columns} for row in found] if columns else list(found)
        missing, unexpected = self._unmatched(left, expected)
        if not missing and not unexpected:
            if self.ignore_order or all(map(self.same, left, expected)):
                return []
            first = next(i for i, pair in enumerate(zip(left, expected, strict=True)) if not self.same(*pair))
            return [
                f"the same {len(expected)} rows in another order; row {first + 1}:",
                f"  expected  {shown(expected[first])}",
                f"  found     {shown(left[first])}",
            ]
        changed = list(self._pairs(missing, unexpected, columns))
        lines = [f"{len(found)} rows, {len(expected)} expected"]
        lines += _some("changed", [self._change(one, other) for one, other in changed])
        lines += _some("missing", [[shown(row)] for row in missing if all(row is not one for one, _ in changed)])
        lines += _some("unexpected", [[shown(row)] for row in unexpected if all(row is not one for _, one in changed)])
        return lines

    def same(self, one: Row, other: Row) -> bool:
        """Whether two rows have the same values; a column that one of them does not have is NULL."""
        return all(self.equal(one.get(name), other.get(name)) for name in {*one, *other})

    def equal(self, one: Any, other: Any) -> bool:
        """Whether two values are the same: moments by time, whatever their zone, and decimals by number."""
        one, other = plain(one), plain(other)
        if isinstance(one, date) != isinstance(other, date):  # a text means the moment that it writes
            one, other = _moment(one), _moment(other)
        if isinstance(one, float) or isinstance(other, float):
            return self._equal_floats(one, other)
        if isinstance(one, dict) and isinstance(other, dict):
            return one.keys() == other.keys() and all(self.equal(value, other[name]) for name, value in one.items())
        if isinstance(one, list) and isinstance(other, list):
            return len(one) == len(other) and all(map(self.equal, one, other))
        return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)

    def _equal_floats(self, one: Any, other: Any) -> bool:
        numbers = isinstance(one, int | float | Decimal) and isinstance(other, int | float | Decimal)
        if not numbers or isinstance(one, bool) or isinstance(other, bool):
            return False
        one, other = float(one), float(other)
        return one == other or (one != one and other != other) or abs(one - other) <= self.tolerance  # noqa: PLR0124 - NaN

    def _unmatched(self, found: Sequence[Row], expected: Sequence[Row]) -> tuple[list[Row], list[Row]]:
        """Takes equal rows away, one for one: what is missing, and what was not expected."""
        by_hash: dict[Any, list[Row]] = {}
        for row in found:
            by_hash.setdefault(_coarse(row), []).append(row)
        missing: list[Row] = []
        for row in expected:
            candidates = by_hash.get(_coarse(row), [])
            match = next((i for i, each in enumerate(candidates) if self.same(each, row)), None)
            if match is None:
                missing.append(row)
            else:
                del candidates[match]
        left = {id(row) for rows in by_hash.values() for row in rows}
        return missing, [row for row in found if id(row) in left]

    def _pairs(
        self, missing: Sequence[Row], unexpected: Sequence[Row], columns: Sequence[str]
    ) -> Iterable[tuple[Row, Row]]:
        """Pairs rows that are the same one with other values: equal in the key, or in most columns."""
        free = list(unexpected)
        for row in missing:
            best = max(free, key=lambda each: self._alike(row, each, columns), default=None)
            if best is not None and self._alike(row, best, columns) > 0:
                free = [each for each in free if each is not best]
                yield row, best

    def _alike(self, one: Row, other: Row, columns: Sequence[str]) -> int:
        if self.key:
            return int(all(self.equal(one.get(name), other.get(name)) for name in self.key))
        equal = sum(self.equal(one.get(name), other.get(name)) for name in columns)
        return equal if 2 * equal >= len(columns) else 0

    def _change(self, expected: Row, found: Row) -> list[str]:
        changed = [name for name in expected if not self.equal(expected[name], found.get(name))]
        same = {name: value for name, value in expected.items() if name not in changed}
        known = {name: expected.get(name) for name in self.key} or same
        return [
            shown(known),
            *(f"    {name}: expected {_text(expected[name])}, found {_text(found.get(name))}" for name in changed),
        ]


def plain(value: Any) -> Any:
    """Returns a value in the form in which it is compared: a moment without a zone is UTC."""
    match value:
        case datetime():
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        case Mapping():
            return dict(value)
        case tuple():
            return list(value)
        case _:
            return value


def _moment(value: Any) -> Any:
    """Returns what a date, a moment or the text of one is compared by; other values as they are."""
    if isinstance(value, str) and value[:4].isdecimal():
        with suppress(ValueError):
            return plain(datetime.fromisoformat(value))
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return plain(value)


def shown(row: Row) -> str:
    """Returns a row as `column=value, …`."""
    return ", ".join(f"{name}={_text(value)}" for name, value in row.items())


def _text(value: Any) -> str:
    value = plain(value)
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else repr(value)


def _coarse(row: Row) -> Any:
    """What equal rows have in common for certain: all but floats and nested values."""
    return tuple(
        sorted(
            (name, repr(_moment(value)) if isinstance(value, str | date | bytes) else "")
            for name, value in row.items()
            if value is not None
        )
    )


def _some(title: str, entries: list[list[str]]) -> list[str]:
    lines = [f"  {title}: {entry[0]}" + "".join(f"\n  {line}" for line in entry[1:]) for entry in entries[:_SHOWN]]
    return lines + ([f"  … and {len(entries) - _SHOWN} more {title}"] if len(entries) > _SHOWN else [])

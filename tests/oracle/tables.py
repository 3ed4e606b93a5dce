"""Tables as they really are on the disk, read without Spark, and how they differ from what they should be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

Row = Mapping[str, Any]
_SHOWN = 8


def read_table(path: Path | str) -> list[dict[str, Any]]:
    """Returns all rows of the Delta table; timestamps are aware, in UTC."""
    table = DeltaTable(str(path))
    if table.protocol().min_reader_version > 1:  # the plain reader knows neither deletion vectors nor mapped columns
        return pa.table(QueryBuilder().register("rows", table).execute("SELECT * FROM rows").read_all()).to_pylist()
    return table.to_pyarrow_table().to_pylist()


def table_version(path: Path | str) -> int:
    """Returns the newest version of the Delta table."""
    return DeltaTable(str(path)).version()


def stored(storage: Path, schema: str, name: str) -> Path:
    """Returns where a storage keeps the table of a dataset that declares no path."""
    return storage / "tables" / schema / name


def differences(actual: Iterable[Row], expected: Iterable[Row], columns: Iterable[str] | None = None) -> list[str]:
    """Compares two tables as multisets of rows, and returns the differences as lines to read; none is equal.

    Floats are equal when they agree to six decimals, timestamps when they are the same moment. With `columns`,
    only those are compared.
    """
    chosen = list(columns) if columns is not None else None
    found, wanted = Counter(_plain(row, chosen) for row in actual), Counter(_plain(row, chosen) for row in expected)
    missing, unexpected = wanted - found, found - wanted
    if not missing and not unexpected:
        return []
    lines = [f"{found.total()} rows, {wanted.total()} expected"]
    for title, rows in (("missing", missing), ("not expected", unexpected)):
        for row, count in sorted(rows.items(), key=repr)[:_SHOWN]:
            lines.append(f"  {title}, {count} x: {dict(row)}")
        if len(rows) > _SHOWN:
            lines.append(f"  … and {len(rows) - _SHOWN} more {title}")
    return lines


def assert_table(actual: Iterable[Row] | Path, expected: Iterable[Row], columns: Iterable[str] | None = None) -> None:
    """Fails with the differences when a table (rows, or where it is stored) does not hold exactly these rows."""
    name = actual.name if isinstance(actual, Path) else "the table"
    rows = read_table(actual) if isinstance(actual, Path) else actual
    lines = differences(rows, expected, columns)
    assert not lines, f"{name} differs: " + "\n".join(lines)


def _plain(row: Row, columns: list[str] | None) -> tuple[tuple[str, Any], ...]:
    names = sorted(row) if columns is None else columns
    return tuple((name, _value(row[name])) for name in names)


def _value(value: Any) -> Any:
    match value:
        case float():
            return round(value, 6) + 0.0  # no difference between 0.0 and -0.0
        case datetime():
            moment = value if value.tzinfo else value.replace(tzinfo=UTC)
            return moment.astimezone(UTC).isoformat()
        case Mapping():
            return tuple((name, _value(value[name])) for name in sorted(value))
        case list():
            return tuple(_value(item) for item in value)
        case _:
            return value

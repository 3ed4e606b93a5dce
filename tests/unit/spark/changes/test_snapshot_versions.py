"""What can be the version of a snapshot, and so the beginning and end of a row's history."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from penstock.spark.writers.changes.snapshots import version_type


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (1, "bigint"),
        ("2026-01-01", "string"),
        (1.5, "double"),
        (b"v1", "binary"),
        (date(2026, 1, 1), "date"),
        (datetime(2026, 1, 1, tzinfo=UTC), "timestamp"),
        (Decimal("1.5"), "decimal(38,18)"),
        (True, None),
        (None, None),
        ([1], None),
    ],
)
def test_types_of_versions(version: object, expected: str | None) -> None:
    found = version_type(version)
    assert (None if found is None else found.simpleString()) == expected

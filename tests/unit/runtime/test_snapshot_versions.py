from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.runtime.flows.snapshot_flow import SnapshotVersions
from penstock.storage import Storage


@pytest.mark.parametrize(
    "version",
    [7, "2026-11-21", 1.5, b"\x00\xff", date(2026, 11, 21), datetime(2026, 11, 21, 1, 2, 3, 4, UTC), Decimal("1.10")],
)
def test_a_version_comes_back_as_it_was(tmp_path: Path, version: Any) -> None:
    versions = SnapshotVersions(Storage(str(tmp_path)), f"{tmp_path}/changes/snapshots")
    versions.write(0, "of a snapshot that was interrupted")
    versions.write(0, version)
    found = versions.read(0)
    assert (type(found), found) == (type(version), version)

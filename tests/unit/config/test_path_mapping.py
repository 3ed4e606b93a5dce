from __future__ import annotations

from pathlib import Path

import pytest

from penstock.config import map_path
from penstock.config.files.path_mapping import missing_entry

PATHS = {"/Volumes/main": "/a", "/Volumes/main/raw/": "s3a://b/", "dbfs:/mnt": "/c", "/data": "/d"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/Volumes/main", "/a"),
        ("/Volumes/main/x/y", "/a/x/y"),
        ("/Volumes/mainly/x", "/Volumes/mainly/x"),
        ("/Volumes/main/raw/x", "s3a://b/x"),
        ("dbfs:/Volumes/main/raw/x", "s3a://b/x"),
        ("/dbfs/Volumes/main/x", "/a/x"),
        ("dbfs:/mnt/x/*.json", "/c/x/*.json"),
        ("/mnt/x", "/c/x"),
        ("/dbfs/mnt/x", "/c/x"),
        ("dbfs:///data/x", "/d/x"),
        ("file:/Workspace/x", "file:/Workspace/x"),
        ("./data/x", "./data/x"),
        ("s3a://data/x", "s3a://data/x"),
    ],
)
def test_the_longest_beginning_counts_in_any_spelling(path: str, expected: str) -> None:
    assert map_path(path, PATHS) == expected


def test_its_own_entry_wins_over_another_spelling() -> None:
    paths = {"/data": "/local", "dbfs:/data": "/remote"}
    assert (map_path("/data/x", paths), map_path("dbfs:/data/x", paths)) == ("/local/x", "/remote/x")


def test_a_disk_of_this_machine_is_no_path_of_databricks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/Volumes/Disk/data"
    assert missing_entry(path) == "/Volumes/Disk/data"
    monkeypatch.setattr("os.path.exists", lambda name: name == "/Volumes/Disk")
    assert missing_entry(path) is None
    assert missing_entry(f"dbfs:{path}") == "/Volumes/Disk/data"

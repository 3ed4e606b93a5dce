"""Which tables a new flow reads from their first version on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.runtime.storage_state.first_read import reads_from_the_first_version

METADATA = {"metaData": {"schemaString": "{}", "partitionColumns": [], "configuration": {}}}
CREATED: list[Any] = [{"commitInfo": {}}, METADATA, {"protocol": {}}]
APPENDED: list[Any] = [{"commitInfo": {}}, {"txn": {}}, {"add": {"path": "a"}}]


def table_of(folder: Path, *commits: list[Any], first: int = 0) -> str:
    log = folder / "table" / "_delta_log"
    log.mkdir(parents=True)
    for version, actions in enumerate(commits, start=first):
        lines = "".join(json.dumps(action) + "\n" for action in actions)
        (log / f"{version:020}.json").write_text(lines, encoding="utf-8")
        (log / f"{version:020}.crc").touch()
    return str(log.parent)


def planned(folder: Path, batch: int, offset: dict[str, Any] | None) -> str:
    offsets = folder / "checkpoint" / "offsets"
    offsets.mkdir(parents=True)
    metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": {}}
    lines = ["v2", json.dumps(metadata), f"bronze:{'-' if offset is None else json.dumps(offset)}"]
    (offsets / str(batch)).write_text("\n".join(lines), encoding="utf-8")
    return str(offsets.parent)


def answer(checkpoint: str, table: str, **options: str) -> bool:
    return reads_from_the_first_version(checkpoint, "bronze", table, options)


def test_a_young_table_that_only_grew(tmp_path: Path) -> None:
    table = table_of(tmp_path, CREATED, APPENDED, [*APPENDED, METADATA])
    assert answer(str(tmp_path / "new"), table)
    assert answer(str(tmp_path / "new"), table, maxFilesPerTrigger="1", skipChangeCommits="true")


def test_other_files_of_the_log_are_no_commits(tmp_path: Path) -> None:
    table = table_of(tmp_path, CREATED, APPENDED)
    for name in (f"{0:020}.{1:020}.compacted.json", f"{1:020}.checkpoint.{'0' * 8}.json"):
        (Path(table) / "_delta_log" / name).write_text("{}", encoding="utf-8")
    assert answer(str(tmp_path / "new"), table)


@pytest.mark.parametrize("option", ["startingVersion", "startingTimestamp", "readChangeFeed", "withEventTimeOrder"])
def test_not_when_an_option_says_what_to_read(tmp_path: Path, option: str) -> None:
    assert not answer(str(tmp_path / "new"), table_of(tmp_path, CREATED, APPENDED), **{option: "1"})


@pytest.mark.parametrize(
    "actions",
    [
        [{"remove": {"path": "a"}}],
        [{"cdc": {"path": "a"}}],
        [{"something": {}}],
        [{"metaData": {**METADATA["metaData"], "schemaString": "{other}"}}],
        [{"metaData": {**METADATA["metaData"], "partitionColumns": ["day"]}}],
    ],
)
def test_not_when_a_commit_did_more_than_add(tmp_path: Path, actions: list[Any]) -> None:
    assert not answer(str(tmp_path / "new"), table_of(tmp_path, CREATED, APPENDED, actions))


def test_not_when_columns_are_mapped(tmp_path: Path) -> None:
    mapped = {"metaData": {**METADATA["metaData"], "configuration": {"delta.columnMapping.mode": "name"}}}
    assert not answer(str(tmp_path / "new"), table_of(tmp_path, [mapped], APPENDED))


def test_not_when_the_log_has_lost_its_beginning(tmp_path: Path) -> None:
    assert not answer(str(tmp_path / "new"), table_of(tmp_path, APPENDED, APPENDED, first=3))


def test_not_when_the_log_is_long(tmp_path: Path) -> None:
    assert not answer(str(tmp_path / "new"), table_of(tmp_path, CREATED, *[APPENDED] * 30))


@pytest.mark.parametrize(
    ("batch", "offset", "expected"),
    [
        (0, {"reservoirVersion": 2, "isStartingVersion": False}, True),
        (0, {"reservoirVersion": 1, "isStartingVersion": True}, False),  # within a snapshot
        (0, None, False),  # the source came later
        (7, {"reservoirVersion": 2, "isStartingVersion": False}, False),  # the first batch is not there any more
    ],
)
def test_a_flow_that_has_begun_goes_on_in_the_order_of_its_offsets(
    tmp_path: Path, batch: int, offset: dict[str, Any] | None, expected: bool
) -> None:
    checkpoint = planned(tmp_path, batch, offset)
    assert answer(checkpoint, table_of(tmp_path, CREATED, APPENDED)) is expected

"""The files of a checkpoint, read as Spark 4.2 writes them; the texts below are from real ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.storage import Storage
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.logs import (
    DamagedFile,
    UnknownVersion,
    parse_commit,
    parse_planned_batch,
    parse_query_id,
    parse_source_log,
)
from penstock.storage.checkpoint.state import missing_state_files, operators, parse_operator, state_partitions

PLANNED = (
    b'v2\n{"batchWatermarkMs":1767264582000,"batchTimestampMs":1795266703555,"conf":{"spark.sql.streaming.'
    b'multipleWatermarkPolicy":"min"},"sourceMetadataInfo":{}}\nsilver:{"sourceVersion":1,"reservoirVersion":2,'
    b'"index":-1}\norders:{"orders_topic":{"0":420}}'
)
COMMIT = b'v1\n{"nextBatchWatermarkMs":0}'
QUERY = b'{"id":"96a3f4f5-813f-40b8-91e1-36371d677791"}'
SOURCE = (
    b'v1\n{"path":"file:///data/orders-00000.json","timestamp":1795264097181,"batchId":0}\n'
    b'{"path":"file:///data/orders-00001.json","timestamp":1795264097185,"batchId":0}'
)
TOPIC = b'\0v1\n{"orders_topic":{"0":0}}'
OPERATOR = (
    b'v1\n{"operatorInfo":{"operatorId":0,"operatorName":"stateStoreSave"},"stateStoreInfo":[{"storeName":"default",'
    b'"numColsPrefixKey":0,"numPartitions":2}]}'
)
Parser = Callable[[bytes], object]
ALL: list[tuple[Parser, bytes]] = [
    (parse_planned_batch, PLANNED),
    (parse_commit, COMMIT),
    (parse_query_id, QUERY),
    (parse_source_log, SOURCE),
    (parse_source_log, TOPIC),
    (parse_operator, OPERATOR),
]


def test_what_real_files_say() -> None:
    planned = parse_planned_batch(PLANNED)
    assert (planned.version, planned.watermark_ms, planned.planned_ms) == ("v2", 1767264582000, 1795266703555)
    assert planned.settings == {"spark.sql.streaming.multipleWatermarkPolicy": "min"}
    assert planned.offsets == {
        "silver": {"sourceVersion": 1, "reservoirVersion": 2, "index": -1},
        "orders": {"orders_topic": {"0": 420}},
    }
    assert parse_commit(COMMIT) == 0
    assert parse_query_id(QUERY) == "96a3f4f5-813f-40b8-91e1-36371d677791"
    assert [entry["path"][-10:] for entry in parse_source_log(SOURCE)] == ["00000.json", "00001.json"]
    assert parse_source_log(TOPIC) == ({"orders_topic": {"0": 0}},)
    name, stores = parse_operator(OPERATOR)
    assert (name, [(store.name, store.partitions) for store in stores]) == ("stateStoreSave", [("default", 2)])


def test_into_how_many_partitions_the_state_is_divided(tmp_path: Path) -> None:
    checkpoint = Storage(str(tmp_path))
    assert state_partitions(checkpoint) is None
    first, second = (tmp_path / "state" / str(number) / "_metadata" for number in (0, 1))
    first.mkdir(parents=True)
    (first / "metadata").write_bytes(OPERATOR[:20])
    assert state_partitions(checkpoint) is None, "a torn description tells nothing"
    second.mkdir(parents=True)
    (second / "metadata").write_bytes(OPERATOR)
    assert state_partitions(checkpoint) == 2
    (first / "v2").mkdir()
    (first / "v2" / "0").write_bytes(OPERATOR)
    (first / "v2" / "7").write_bytes(OPERATOR.replace(b'"numPartitions":2', b'"numPartitions":4'))
    assert state_partitions(checkpoint) == 4


def test_the_older_offset_log_counts_its_sources() -> None:
    metadata = b'{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}'
    assert parse_planned_batch(b"v1\n" + metadata + b'\n{"logOffset":3}\n-').offsets == {
        "0": {"logOffset": 3},
        "1": None,
    }


@pytest.mark.parametrize(("parser", "content"), ALL, ids=lambda each: getattr(each, "__name__", ""))
def test_every_shorter_file_is_damaged_unless_a_whole_line_is_missing(parser: Parser, content: bytes) -> None:
    whole_lines = {content.rindex(b"\n")} if content.count(b"\n") > 1 else set()
    for length in range(len(content)):
        if length in whole_lines or length - 1 in whole_lines:
            continue  # what is missing then is told by the checksum
        with pytest.raises(DamagedFile):
            parser(content[:length])


@pytest.mark.parametrize(("parser", "content"), ALL, ids=lambda each: getattr(each, "__name__", ""))
@pytest.mark.parametrize("garbage", [b"\0" * 40, b"\xff\xfe\x00", b"null", b"v1\nnull", b"v1\n[]\n[]", b"v2\n{}\n{}"])
def test_garbage_is_damaged(parser: Parser, content: bytes, garbage: bytes) -> None:
    if parser is parse_source_log and garbage.startswith(b"v1"):
        return  # each source writes its own JSON
    with pytest.raises((DamagedFile, UnknownVersion)):
        parser(garbage)


@pytest.mark.parametrize(("parser", "content"), [pair for pair in ALL if b"v" in pair[1][:2]])
def test_another_version_is_not_called_damage(parser: Parser, content: bytes) -> None:
    body = content[content.index(b"v") + 2 :]
    with pytest.raises(UnknownVersion, match="v9"):
        parser(b"v9" + body)


def test_a_checksum_tells_a_changed_bit(tmp_path: Path) -> None:
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits/0").write_bytes(COMMIT)
    folder = CheckpointFolder.open(str(tmp_path))
    assert folder.fits_checksum("commits/0", b"anything"), "there is none"
    checksum = tmp_path / "commits/.0.crc"
    checksum.write_bytes(bytes.fromhex("6372630000000200f32abfdd"))  # what Hadoop wrote for these bytes
    folder = CheckpointFolder.open(str(tmp_path))
    assert folder.fits_checksum("commits/0", COMMIT)
    assert not folder.fits_checksum("commits/0", COMMIT.replace(b"0}", b"1}"))
    checksum.write_bytes(b"")
    assert folder.fits_checksum("commits/0", COMMIT), "Hadoop ignores it, too"


def test_leftovers_of_a_crash_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    for name in ("7", ".7.crc", ".8.1f2d6a3e-0000-4a1b-9c9d-aaaaaaaaaaaa.tmp", "..8.1f2d6a3e.tmp.crc", "x"):
        (tmp_path / "offsets" / name).write_text("v2")
    folder = CheckpointFolder.open(str(tmp_path))
    assert set(folder.files) == {"offsets/7", "offsets/x"}
    assert (folder.planned, folder.committed, folder.in_flight, folder.size) == (7, None, 7, 4)
    assert CheckpointFolder.open(str(tmp_path / "nothing")).planned is None


def _state(root: Path, *names: str, stores: tuple[str, ...] = ("default",), partitions: int = 1) -> list[str]:
    for name in names:
        path = root / "state/0" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    described = [{"storeName": store, "numPartitions": partitions} for store in stores]
    document = {"operatorInfo": {"operatorId": 0, "operatorName": "join"}, "stateStoreInfo": described}
    (root / "state/0/_metadata").mkdir(parents=True)
    (root / "state/0/_metadata/metadata").write_text(f"v1\n{json.dumps(document)}")
    folder = CheckpointFolder.open(str(root))
    [(number, operator)] = operators(folder)
    assert number == 0
    assert operator is not None
    return list(missing_state_files(folder, operator, 5))


def test_a_version_of_the_state_is_a_snapshot_and_the_changes_since(tmp_path: Path) -> None:
    changes = [f"0/{version}.changelog" for version in (1, 2, 3, 4, 5)]
    assert _state(tmp_path / "changes", *changes) == []
    assert _state(tmp_path / "snapshot", "0/3.zip", *changes[3:]) == []
    assert _state(tmp_path / "whole", "0/5.zip") == []
    assert _state(tmp_path / "ids", "0/3_0a1b.zip", "0/4_0a1c.changelog", "0/5_0a1d.changelog") == []
    assert _state(tmp_path / "heap", "0/4.snapshot", "0/5.delta") == []
    assert _state(tmp_path / "hole", *changes[:2], *changes[3:]) == ["state/0/0/3.changelog"]
    assert _state(tmp_path / "newer", "0/6.zip", *changes[:4]) == ["state/0/0/5.changelog"]
    assert _state(tmp_path / "partition", *changes, partitions=2)[0] == "state/0/1/5.changelog"
    joined = [f"0/{side}/{version}.changelog" for side in ("left", "right") for version in range(1, 6)]
    assert _state(tmp_path / "join", *joined, stores=("left", "right")) == []
    assert _state(tmp_path / "lost", *joined[:-1], stores=("left", "right")) == ["state/0/0/right/5.changelog"]

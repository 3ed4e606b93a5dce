"""Which source files are deleted or moved: those that a committed batch has read, as they were then."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest

from penstock.errors import DefinitionError
from penstock.spark.sources.auto_loader.files.cleaning import Cleaned, clean_source
from penstock.spark.sources.auto_loader.options.clean_source import (
    CleanMode,
    CleanSource,
    parse_clean_source,
    parse_duration,
    with_destination,
    without_cleaning,
)
from penstock.spark.sources.stream_read import StreamRead
from penstock.storage import Storage

SOURCE = "orders"
DAY = 86_400


@dataclass
class Query:
    """A checkpoint whose batches have each read one step of files, and the folder from which they came."""

    root: Path
    how: CleanSource
    now: float = 1_000_000_000.0
    steps: int = 0
    last: Cleaned = field(default_factory=Cleaned)

    def __post_init__(self) -> None:
        self.write("metadata", json.dumps({"id": str(uuid4())}))

    def write(self, name: str, text: str) -> None:
        path = self.root / "checkpoint" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def put(self, name: str) -> Path:
        path = Path(self.how.base) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        return path

    def batch(self, *names: str, committed: bool = True) -> list[Path]:
        step, self.steps = self.steps, self.steps + 1
        paths = [self.put(name) for name in names]
        entries = [
            {"path": path.as_uri(), "timestamp": path.stat().st_mtime_ns // 1_000_000, "batchId": step}
            for path in paths
        ]
        self.write(f"sources/{SOURCE}/{step}", "v1\n" + "\n".join(map(json.dumps, entries)))
        metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": {}}
        self.write(f"offsets/{step}", f"v2\n{json.dumps(metadata)}\n{SOURCE}:{json.dumps({'logOffset': step})}")
        if committed:
            self.commit(step)
        return paths

    def commit(self, step: int) -> None:
        self.write(f"commits/{step}", 'v1\n{"nextBatchWatermarkMs":0}')

    def clean(self, *, stopped: bool = False) -> Cleaned:
        self.last = clean_source(
            self.how,
            checkpoint=str(self.root / "checkpoint"),
            source=SOURCE,
            notes_location=str(self.root / "schemas"),
            stopped=lambda: stopped,
            now=lambda: self.now,
        )
        return self.last

    @property
    def files(self) -> set[str]:
        base = Path(self.how.base)
        return {str(path.relative_to(base)) for path in base.rglob("*") if path.is_file()}


@pytest.fixture
def moving(tmp_path: Path) -> Query:
    archive = str(tmp_path / "archive")
    return Query(tmp_path, CleanSource(CleanMode.MOVE, str(tmp_path / "in"), 0, archive))


@pytest.fixture
def deleting(tmp_path: Path) -> Query:
    return Query(tmp_path, CleanSource(CleanMode.DELETE, str(tmp_path / "in"), 7 * DAY))


def test_only_committed_files_go_the_last_batch_included(moving: Query, tmp_path: Path) -> None:
    moving.put("unread.json")
    moving.batch("a.json", "day=1/b c.json")
    moving.batch("c.json")
    moving.batch("planned.json", committed=False)
    assert moving.clean() == Cleaned(files=3)
    assert moving.files == {"unread.json", "planned.json"}
    assert (tmp_path / "archive/day=1/b c.json").read_text() == "day=1/b c.json"
    assert moving.clean() == Cleaned()
    moving.commit(2)
    assert moving.clean().files == 1
    assert moving.files == {"unread.json"}


def test_a_commit_that_cannot_be_read_proves_nothing(moving: Query) -> None:
    moving.batch("a.json")
    moving.batch("b.json")
    moving.write("commits/1", "v1\n")
    assert moving.clean().files == 1
    assert moving.files == {"b.json"}


def test_files_go_when_the_retention_is_over(deleting: Query) -> None:
    deleting.batch("a.json")
    assert deleting.clean() == Cleaned()
    deleting.now += 4 * DAY
    deleting.batch("b.json")
    deleting.clean()
    deleting.now += 3 * DAY - 1
    assert deleting.clean() == Cleaned()
    deleting.now += 1
    assert deleting.clean().files == 1
    assert deleting.files == {"b.json"}
    deleting.now += 4 * DAY
    assert deleting.clean().files == 1
    assert deleting.files == set()


def test_the_notes_stay_short(deleting: Query, tmp_path: Path) -> None:
    for number in range(300):
        deleting.batch(str(number))
        deleting.now += 3600
        deleting.clean()
    notes = json.loads((tmp_path / "schemas/_cleaned_files").read_text())
    assert len(notes["committed"]) <= 101
    assert notes["cleaned"] > 100


def test_a_file_that_was_changed_after_it_was_read_stays(moving: Query) -> None:
    changed, _ = moving.batch("a.json", "b.json")
    os.utime(changed, (5, 5))
    assert moving.clean() == Cleaned(files=1, changed=(str(changed),))
    assert moving.files == {"a.json"}
    moving.batch("c.json")
    assert moving.clean() == Cleaned(files=1), "said once"


def test_nothing_in_the_archive_is_overwritten(moving: Query, tmp_path: Path) -> None:
    moving.batch("a.json")
    moving.clean()
    [again] = moving.batch("a.json")
    listed = again.stat().st_mtime_ns // 1_000_000
    moving.clean()
    assert {path.name for path in (tmp_path / "archive").iterdir()} == {"a.json", f"a.json.{listed}"}


def test_it_can_die_anywhere(moving: Query, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends before each change of a file, then goes on: everything goes once, and nothing else."""
    moving.batch("a.json", "b.json")
    moving.batch("c.json")
    moving.batch("planned.json", committed=False)
    deaths = 0
    for allowed in range(10):
        changes = 0

        def dying(name: str, real: object) -> object:
            def call(*arguments: object) -> object:
                nonlocal changes
                if changes == allowed:  # noqa: B023 - called in this round
                    raise KeyboardInterrupt
                changes += 1
                return real(*arguments)  # type: ignore[operator]

            return call

        with monkeypatch.context() as patch:
            for name in ("move_file", "write_text_atomic"):
                patch.setattr(Storage, name, dying(name, getattr(Storage, name)))
            try:
                moving.clean()
            except KeyboardInterrupt:
                deaths += 1
            else:
                break
        archived = {path.name for path in (tmp_path / "archive").glob("*")}
        assert archived | moving.files == {"a.json", "b.json", "c.json", "planned.json"}
    assert deaths >= 2
    assert moving.files == {"planned.json"}


def test_a_stop_leaves_the_rest_to_the_next_call(moving: Query) -> None:
    moving.batch("a.json")
    assert moving.clean(stopped=True) == Cleaned()
    assert moving.clean().files == 1


def test_what_cannot_be_moved_is_tried_again(moving: Query, tmp_path: Path) -> None:
    moving.batch("a.json")
    (tmp_path / "archive").write_text("a file in the place of the folder")
    assert "archive" in (moving.clean().failure or "")
    (tmp_path / "archive").unlink()
    assert moving.clean() == Cleaned(files=1)


def test_another_query_begins_anew(moving: Query) -> None:
    moving.batch("a.json")
    moving.clean()
    moving.write("metadata", json.dumps({"id": str(uuid4())}))  # as after a full refresh
    moving.steps = 0
    moving.batch("b.json")
    assert moving.clean().files == 1


def test_steps_that_spark_has_compacted(moving: Query) -> None:
    for name in "abc":
        moving.batch(name)
    folder = moving.root / "checkpoint/sources" / SOURCE
    entries = [line for step in range(3) for line in (folder / str(step)).read_text().splitlines()[1:]]
    (folder / "2.compact").write_text("\n".join(["v1", *entries]))
    for step in range(3):
        (folder / str(step)).unlink()
    assert moving.clean().files == 3


def read(path: str = "/data/in", **options: str) -> StreamRead:
    prefix = "cloudFiles.cleanSource"
    given = {prefix if name == "mode" else f"{prefix}.{name}": value for name, value in options.items()}
    return StreamRead("cloudFiles", given, None, path)


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"mode": "ARCHIVE"}, ""),
        ({"mode": "DELETE", "retentionDuration": "soon"}, ".retentionDuration"),
        ({"mode": "DELETE", "retentionDuration": "6 days"}, ".retentionDuration"),
        ({"mode": "MOVE", "moveDestination": "/data/in/done"}, ".moveDestination"),
        ({"mode": "MOVE", "moveDestination": "/data/in/"}, ".moveDestination"),
        ({"mode": "MOVE", "moveDestination": "s3a://bucket/done"}, ".moveDestination"),
    ],
)
def test_bad_options(options: Mapping[str, str], option: str) -> None:
    for path in ("/data/in", "file:///data/in/", "/data/in/*/x"):
        with pytest.raises(DefinitionError) as error:
            parse_clean_source(read(path, **options), path)
        assert error.value.condition == "AUTO_LOADER_INVALID_OPTION"
        assert error.value.facts["option"] == f"cloudFiles.cleanSource{option}"


def test_good_options() -> None:
    assert parse_clean_source(read(), "/data/in") is None
    assert parse_clean_source(read(mode="off"), "/data/in") is None
    delete = parse_clean_source(read(mode="delete"), "/data/in/*.json")
    assert delete == CleanSource(CleanMode.DELETE, "/data/in", 30 * DAY)
    moved = with_destination(read(mode="MOVE", moveDestination="done"), lambda path: f"/data/{path}/")
    move = parse_clean_source(moved, "/data/in")
    assert move == CleanSource(CleanMode.MOVE, "/data/in", 30 * DAY, "/data/done")
    assert without_cleaning({**moved.options, "header": "true"}) == {"header": "true"}
    with pytest.raises(DefinitionError) as error:
        parse_clean_source(read(mode="MOVE"), "/data/in")
    assert error.value.condition == "AUTO_LOADER_MISSING_OPTION"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30 days", 30 * DAY), ("interval 1 week 12 hours", 7 * DAY + 43_200), ("0 seconds", 0), ("", None), ("5", None)],
)
def test_durations(text: str, seconds: int | None) -> None:
    assert parse_duration(text) == seconds

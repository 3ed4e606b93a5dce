"""Which files of a project have changed."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.runtime.dev import project_files
from penstock.runtime.dev.project_files import ProjectFiles


def wait_for(files: ProjectFiles) -> list[str]:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if changed := files.changed():
            return [path.name for path in changed]
        time.sleep(0.02)
    pytest.fail("no change was seen")


@pytest.fixture
def files(tmp_path: Path) -> ProjectFiles:
    (tmp_path / "one.py").write_text("1")
    (tmp_path / "data").mkdir()
    return ProjectFiles(tmp_path, without=(tmp_path / "data",))


def test_nothing_has_changed_at_first(files: ProjectFiles) -> None:
    assert files.changed() == ()


def test_a_file_that_is_written_is_seen_once(files: ProjectFiles) -> None:
    (files.directory / "one.py").write_text("12")
    assert wait_for(files) == ["one.py"]
    assert files.changed() == ()


def test_a_file_of_the_same_size_is_seen_by_its_time(files: ProjectFiles) -> None:
    path = files.directory / "one.py"
    path.write_text("2")
    os.utime(path, ns=(1, 1))
    assert wait_for(files) == ["one.py"]


def test_files_are_added_removed_and_come_back(files: ProjectFiles) -> None:
    added = files.directory / "deep" / "two.sql"
    added.parent.mkdir()
    added.write_text("SELECT 1")
    assert wait_for(files) == ["two.sql"]
    added.unlink()
    assert wait_for(files) == ["two.sql"]
    time.sleep(0.6)
    assert files.changed() == ()
    added.write_text("SELECT 2")
    assert wait_for(files) == ["two.sql"]


def test_data_and_hidden_folders_are_not_watched(files: ProjectFiles) -> None:
    for folder in ("data", ".git", "__pycache__"):
        (files.directory / folder).mkdir(exist_ok=True)
        (files.directory / folder / "three.py").write_text("3")
    (files.directory / "rows.json").write_text("{}")
    (files.directory / "four.py").write_text("4")
    assert wait_for(files) == ["four.py"]


def test_a_file_that_is_still_written_is_waited_for(files: ProjectFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    path, parts = files.directory / "one.py", iter(range(20))

    def write(_: float) -> None:
        if (part := next(parts, None)) is not None:
            with path.open("a") as file:
                file.write(f"{part}\n")

    write(0)
    monkeypatch.setattr(project_files, "time", SimpleNamespace(monotonic=time.monotonic, sleep=write))
    assert files.changed() == (path,)
    assert path.read_text().endswith("19\n")
    assert files.changed() == ()


def test_a_file_outside_of_the_folder_is_watched(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "shared.py"
    project.mkdir()
    outside.write_text("1")
    files = ProjectFiles(project, lambda: [outside])
    outside.write_text("12")
    assert wait_for(files) == ["shared.py"]

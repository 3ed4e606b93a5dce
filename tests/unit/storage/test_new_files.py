"""New storages are for their owner only; what is there already stays as open as it is."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli.project import open_project
from penstock.errors import ConfigError
from penstock.spark.session.defaults import Machine
from penstock.spark.session.launch import SessionConfig, _structure
from penstock.spark.session.setup.cache import cache_directory
from penstock.storage import Storage
from penstock.storage.new_files import process_umask


@pytest.fixture(autouse=True)
def shell() -> Iterator[int]:
    """The umask that a shell has."""
    before = os.umask(0o022)
    yield 0o022
    os.umask(before)


def written(project: Path, settings: str = "") -> list[str]:
    """The modes of a storage's folder, a folder and a file in it, when a command has written something."""
    (project / "penstock.yml").write_text(f"name: orders\n{settings}")
    storage = Storage(open_project(project).storage)
    storage.write_text_atomic("events/one.jsonl", "1")
    root = project / ".penstock"
    return [f"{stat.S_IMODE(each.stat().st_mode):o}" for each in (root, root / "events", root / "events/one.jsonl")]


def test_a_new_storage_is_for_its_owner(tmp_path: Path) -> None:
    assert written(tmp_path) == ["700", "700", "600"]
    os.umask(0o022)
    assert written(tmp_path) == ["700", "700", "600"]
    conf = dict(_structure(SessionConfig("orders"), Machine.of("local[2]"), [], tmp_path))
    assert conf["spark.hadoop.fs.permissions.umask-mode"] == "077"
    conf = dict(_structure(SessionConfig("orders"), Machine.of("yarn"), [], tmp_path))
    assert "spark.hadoop.fs.permissions.umask-mode" not in conf  # HDFS has its own


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(0o755, ["755", "755", "644"]), (0o750, ["750", "750", "640"]), (0o775, ["775", "755", "644"])],
)
def test_an_existing_storage_goes_on_unchanged(tmp_path: Path, mode: int, expected: list[str]) -> None:
    (tmp_path / ".penstock").mkdir()
    (tmp_path / ".penstock").chmod(mode)
    assert written(tmp_path) == expected


@pytest.mark.parametrize(
    ("access", "expected"),
    [("owner", ["700", "700", "600"]), ("group", ["770", "770", "660"]), ("all", ["755", "755", "644"])],
)
def test_a_setting_opens_it(tmp_path: Path, access: str, expected: list[str]) -> None:
    assert written(tmp_path, f"storage_access: {access}\n") == expected


def test_another_value_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        written(tmp_path, "storage_access: world\n")
    assert (caught.value.condition, caught.value.facts["key"]) == ("CONFIG_INVALID_VALUE", "storage_access")
    assert caught.value.facts["expected"] == "owner, group or all"


def test_an_object_store_leaves_the_umask_as_it_is(tmp_path: Path, shell: int) -> None:
    (tmp_path / "penstock.yml").write_text("name: orders\nstorage: s3a://lake/orders\n")
    open_project(tmp_path)
    assert process_umask() == shell


def test_the_cache_is_for_its_owner(tmp_path: Path) -> None:
    cache = cache_directory({"PENSTOCK_CACHE": str(tmp_path / "new" / "cache")})
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700

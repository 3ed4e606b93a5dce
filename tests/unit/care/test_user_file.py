"""A file of the user is replaced whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.care.user_file import replace_user_file
from penstock.errors import ConfigError


def test_permissions_and_a_link_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real.yml", tmp_path / "penstock.yml"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    replace_user_file(link, b"new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(each.name for each in tmp_path.iterdir()) == ["penstock.yml", "real.yml"]


@pytest.mark.parametrize(("where", "step"), [(Path, "write_bytes"), (os, "replace")])
def test_what_goes_wrong_leaves_the_old_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: object, step: str
) -> None:
    file = tmp_path / "penstock.yml"
    file.write_text("old")

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, step, fail)
    with pytest.raises(KeyboardInterrupt):
        replace_user_file(file, b"new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = tmp_path / "nowhere" / "known.json"
    with pytest.raises(ConfigError) as raised:
        replace_user_file(file, b"new")
    assert raised.value.condition == "FILE_NOT_WRITABLE"
    assert raised.value.facts["path"] == str(file)

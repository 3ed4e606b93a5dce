from __future__ import annotations

import threading
from pathlib import Path

import pytest

from penstock.errors import ConfigError
from penstock.spark.session.setup.cache import cache_directory, log_folder, one_process_at_a_time


def test_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_directory({}) == tmp_path / ".cache" / "penstock"
    assert cache_directory({"XDG_CACHE_HOME": str(tmp_path / "xdg")}) == tmp_path / "xdg" / "penstock"
    chosen = cache_directory({"XDG_CACHE_HOME": str(tmp_path / "xdg"), "PENSTOCK_CACHE": str(tmp_path / "mine")})
    assert chosen == tmp_path / "mine"
    assert chosen.is_dir()


def test_a_cache_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigError) as raised:
        cache_directory({"PENSTOCK_CACHE": str(tmp_path / "file" / "cache")})
    assert raised.value.condition == "CACHE_NOT_WRITABLE"
    assert raised.value.facts["path"] == str(tmp_path / "file" / "cache")


def test_logs_are_in_a_cache_that_can_be_written_and_else_elsewhere(tmp_path: Path) -> None:
    assert log_folder({"PENSTOCK_CACHE": str(tmp_path / "cache")}) == tmp_path / "cache/logs"
    (tmp_path / "file").touch()
    elsewhere = log_folder({"PENSTOCK_CACHE": str(tmp_path / "file/cache")})
    assert elsewhere.is_dir()
    assert not elsewhere.is_relative_to(tmp_path)
    elsewhere.rmdir()


def test_one_at_a_time(tmp_path: Path) -> None:
    lock, waited, order = tmp_path / "lock", threading.Event(), []

    def second() -> None:
        with one_process_at_a_time(lock, waiting=waited.set):
            order.append("second")

    other = threading.Thread(target=second)
    with one_process_at_a_time(lock, waiting=lambda: pytest.fail("nobody else is there")):
        other.start()
        assert waited.wait(10)
        order.append("first")
    other.join(10)
    assert order == ["first", "second"]

"""The settings of a script: its own storage, and what a pipeline file beside it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.config import load_script
from penstock.errors import ConfigError


def test_a_script_alone_has_the_defaults_and_a_storage_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "orders.py").touch()
    config = load_script(tmp_path / "orders.py")
    assert (config.name, config.master) == ("orders", "local[*]")
    assert config.storage == str(tmp_path / ".penstock/scripts/orders")
    assert config.directory == tmp_path


def test_a_pipeline_file_beside_it_gives_settings_of_spark_and_the_storage(tmp_path: Path) -> None:
    (tmp_path / "orders.py").touch()
    (tmp_path / "penstock.yml").write_text(
        "name: shop\nstorage: lake\nmaster: local[1]\nlibraries: [{file: {path: x.py}}]\n"
        "spark_conf: {spark.sql.shuffle.partitions: 3}\n"
    )
    config = load_script(tmp_path / "orders.py")
    assert (config.name, config.master, config.libraries) == ("orders", "local[1]", ())
    assert config.resolve_spark_conf() == {"spark.sql.shuffle.partitions": "3"}
    assert config.storage == str(tmp_path / "lake/scripts/orders")


def test_a_storage_that_is_named_is_taken_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "orders.py").touch()
    monkeypatch.chdir(tmp_path)
    assert load_script("orders.py", storage="here").storage == str(tmp_path / "here")
    assert load_script("orders.py", storage="s3a://lake/orders").storage == "s3a://lake/orders"


def test_a_script_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        load_script(tmp_path / "orders.py")
    assert (refused.value.condition, refused.value.exit_code) == ("SCRIPT_NOT_READABLE", 2)


def test_a_broken_pipeline_file_beside_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "orders.py").touch()
    (tmp_path / "penstock.yml").write_text("name: shop\nstorge: here\n")
    with pytest.raises(ConfigError):
        load_script(tmp_path / "orders.py")

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from penstock.spark.session.setup import class_archive
from penstock.spark.session.setup.class_archive import archive_path, ensure_archive, make_in_background, options_to_use
from penstock.spark.session.setup.java import Java, JavaOrigin, find_java


@pytest.fixture
def java(tmp_path: Path) -> Java:
    home = tmp_path / "java-17"
    for name in ("bin/java", "lib/server/classes.jsa"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).touch()
    return Java(home / "bin/java", "17.0.15", JavaOrigin.PATH)


def test_an_archive_belongs_to_one_java_and_one_list_of_jars(tmp_path: Path, java: Java) -> None:
    environ = {"PENSTOCK_CACHE": str(tmp_path / "cache")}
    jar = tmp_path / "a.jar"
    jar.write_text("one")
    first = archive_path(java, [jar], environ)
    assert first.parent == tmp_path / "cache" / "class-archives"
    assert archive_path(java, [jar], environ) == first
    assert archive_path(Java(java.executable, "17.0.16", JavaOrigin.PATH), [jar], environ) != first
    jar.write_text("another")
    assert archive_path(java, [jar], environ) != first


def test_no_archive_no_options(tmp_path: Path) -> None:
    archive = tmp_path / "x.jsa"
    assert options_to_use(archive, {}) == []
    archive.write_text("archive")
    assert options_to_use(archive, {}) == []
    archive.with_suffix(".size").write_text("7")
    assert f"-XX:SharedArchiveFile={archive}" in options_to_use(archive, {})
    assert options_to_use(archive, {"PENSTOCK_CLASS_ARCHIVE": "off"}) == []
    archive.write_text("torn")
    assert options_to_use(archive, {}) == []


def test_the_archives_that_were_used_last_stay(tmp_path: Path, java: Java, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several environments with Penstock share a cache: the one that is at work must not lose its archive."""
    (tmp_path / "training_of_a_test.py").write_text("import pathlib, sys\npathlib.Path(sys.argv[1]).write_text('made')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(class_archive, "_TRAINING", "training_of_a_test")
    archives = [tmp_path / "archives" / f"{number}.jsa" for number in range(5)]
    for age, archive in enumerate(archives[:4]):
        assert ensure_archive(archive, java, progress=lambda _line: None)
        os.utime(archive, (age, age))
        os.utime(archive.with_suffix(".size"), (age, age))
    assert options_to_use(archives[0])
    assert ensure_archive(archives[4], java, progress=lambda _line: None)
    assert [bool(options_to_use(archive)) for archive in archives] == [True, False, True, True, True]
    assert not archives[1].exists()


def test_the_java_of_pip_has_an_archive_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes without one of its own classes, and can write no other without it."""
    java = find_java({"PATH": ""})
    assert java.origin is JavaOrigin.BUNDLED
    training = """
import subprocess, sys
from pathlib import Path
from penstock.spark.session.setup.class_archive import options_to_record
from penstock.spark.session.setup.java import find_java

java = find_java({"PATH": ""}).executable
subprocess.run([java, *options_to_record(Path(sys.argv[1])), "--list-modules"], check=True)
"""
    (tmp_path / "training_of_a_test.py").write_text(training)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(class_archive, "_TRAINING", "training_of_a_test")
    archive = tmp_path / "archives" / "x.jsa"
    assert ensure_archive(archive, java, progress=lambda _line: None), archive.with_suffix(".log").read_text()
    log = ["-Xlog:class+load:stdout", "--list-modules"]
    used = subprocess.run([java.executable, *options_to_use(archive), *log], capture_output=True, text=True, check=True)
    assert "source: shared objects file (top)" in used.stdout
    archive.with_suffix(".base").write_bytes(b"torn")
    assert options_to_use(archive) == []


def test_an_archive_that_cannot_be_made_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, java: Java
) -> None:
    monkeypatch.setattr(class_archive, "_TRAINING", "penstock.no_such_module")
    archive = tmp_path / "archives" / "x.jsa"
    said: list[str] = []
    assert not ensure_archive(archive, java, progress=said.append)
    assert len(said) == 1
    assert "no_such_module" in archive.with_suffix(".log").read_text()


def test_it_is_not_tried_again_and_again_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("started"))
    archive = tmp_path / "x.jsa"
    make_in_background(archive, {"PENSTOCK_CLASS_ARCHIVE": "off"})
    archive.with_suffix(".log").write_text("why it failed")
    make_in_background(archive, {})

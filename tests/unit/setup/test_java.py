from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from penstock.errors import ConfigError
from penstock.spark.session.setup import java as java_module
from penstock.spark.session.setup.java import Java, JavaOrigin, find_java, java_home_for_spark, major_version


def make_java(home: Path, version: str, *, release_file: bool = True) -> Path:
    """A folder that looks like a JDK; its `java` prints its version as Java does, on standard error."""
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-01' >&2\n")
    java.chmod(0o755)
    if release_file:
        (home / "release").write_text(f'IMPLEMENTOR="Nobody"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Java:
    java = Java(make_java(tmp_path / "wheel", "21.0.8") / "bin" / "java", "21.0.8", JavaOrigin.BUNDLED)
    monkeypatch.setattr(java_module, "_bundled_java", lambda: java)
    return java


@pytest.mark.parametrize(
    ("version", "major"), [("17.0.15", 17), ("17-ea", 17), ("1.8.0_292", 8), ("21", 21), ("25.0.1+9", 25), ("odd", 0)]
)
def test_major_version(version: str, major: int) -> None:
    assert major_version(version) == major


@pytest.mark.parametrize("release_file", [True, False])
def test_java_home_comes_first(tmp_path: Path, bundled: Java, release_file: bool) -> None:
    home = make_java(tmp_path / "home", "17.0.15", release_file=release_file)
    other = make_java(tmp_path / "other", "21.0.1")
    found = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert (found.executable, found.version, found.major) == (home / "bin" / "java", "17.0.15", 17)
    assert found.origin is JavaOrigin.JAVA_HOME


@pytest.mark.parametrize("release_file", [True, False])
def test_a_java_home_that_is_too_old_is_an_error(tmp_path: Path, bundled: Java, release_file: bool) -> None:
    home = make_java(tmp_path / "home", "1.8.0_292", release_file=release_file)
    with pytest.raises(ConfigError) as raised:
        find_java({"JAVA_HOME": str(home), "PATH": ""})
    assert raised.value.condition == "JAVA_TOO_OLD"
    assert raised.value.facts == {"path": str(home), "version": "1.8.0_292", "oldest": "17"}
    assert raised.value.exit_code == 2


def test_a_java_home_without_java_is_an_error(tmp_path: Path, bundled: Java) -> None:
    with pytest.raises(ConfigError) as raised:
        find_java({"JAVA_HOME": str(tmp_path / "nothing"), "PATH": ""})
    assert (raised.value.condition, raised.value.facts) == ("JAVA_HOME_INVALID", {"path": str(tmp_path / "nothing")})


def test_java_on_path(tmp_path: Path, bundled: Java) -> None:
    home = make_java(tmp_path / "home", "21.0.2")
    found = find_java({"PATH": str(home / "bin")})
    assert (found.version, found.origin) == ("21.0.2", JavaOrigin.PATH)


def test_a_linked_java_on_path_is_read_where_it_really_is(tmp_path: Path, bundled: Java) -> None:
    home = make_java(tmp_path / "jvm" / "java-17", "17.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert find_java({"PATH": str(tmp_path / "bin")}).home == home


def test_an_old_java_on_path_is_passed_over(tmp_path: Path, bundled: Java) -> None:
    home = make_java(tmp_path / "home", "11.0.20")
    assert find_java({"PATH": str(home / "bin")}) == bundled


def test_a_java_that_does_not_run_is_passed_over(tmp_path: Path, bundled: Java) -> None:
    # As macOS without a JDK: /usr/bin/java exists and fails.
    home = make_java(tmp_path / "home", "17", release_file=False)
    (home / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    assert find_java({"PATH": str(home / "bin")}) == bundled


def test_no_java_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_module, "_bundled_java", lambda: None)
    with pytest.raises(ConfigError) as raised:
        find_java({"PATH": str(tmp_path)})
    assert (raised.value.condition, raised.value.facts) == ("JAVA_NOT_FOUND", {"oldest": "17"})


def test_the_bundled_java_is_installed() -> None:
    found = find_java({"PATH": ""})
    assert (found.origin, found.major) == (JavaOrigin.BUNDLED, 21)


def test_programs_that_use_sparks_launcher_get_a_java_without_the_missing_module(tmp_path: Path, bundled: Java) -> None:
    bundled.executable.write_text('#!/bin/sh\nfor a in "$@"; do echo "$a"; done\n')
    home = java_home_for_spark(bundled, tmp_path / "cache")
    assert java_home_for_spark(bundled, tmp_path / "cache") == home
    command = [str(home / "bin" / "java"), "-Xmx1g", "--add-modules=jdk.incubator.vector", "Main", "two words"]
    assert subprocess.check_output(command, text=True).splitlines() == ["-Xmx1g", "Main", "two words"]


def test_any_other_java_is_its_own_home(tmp_path: Path) -> None:
    home = make_java(tmp_path / "home", "17.0.15")
    assert java_home_for_spark(Java(home / "bin" / "java", "17.0.15", JavaOrigin.PATH), tmp_path) == home

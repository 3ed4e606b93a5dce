"""Jars in the cache are the locked ones: when they are fetched, at each start, for `setup` and for `doctor`."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import ConfigError, ExternalError
from penstock.spark.session.setup import ivy
from penstock.spark.session.setup import jars as jars_module
from penstock.spark.session.setup.jars import altered_jars, ensure_jars
from penstock.spark.session.setup.java import Java, JavaOrigin
from penstock.spark.session.setup.known_jars import JarSet, LockedJar

CONTENT = {"one": b"the first jar" * 100, "two": b"the second jar" * 100}
JAVA = Java(Path("/java"), "17", JavaOrigin.PATH)


@pytest.fixture
def served() -> dict[str, bytes]:
    """What the repository has."""
    return dict(CONTENT)


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch, served: dict[str, bytes]) -> list[str]:
    """The names of the jars that were read, in their order."""
    jars = tuple(LockedJar("org", name, "1", len(c), hashlib.sha256(c).hexdigest()) for name, c in CONTENT.items())
    monkeypatch.setattr(jars_module, "jar_sets", lambda: {"s3": JarSet("s3", jars)})

    def retrieve(_jars: object, target: Path, **_: Any) -> None:
        for name, content in served.items():
            (target / f"{name}-1.jar").write_bytes(content)

    monkeypatch.setattr(ivy, "retrieve", retrieve)
    read: list[str] = []
    sha256 = jars_module._sha256

    def noted(path: Path) -> str:
        read.append(path.name)
        return sha256(path)

    monkeypatch.setattr(jars_module, "_sha256", noted)
    return read


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"PENSTOCK_CACHE": str(tmp_path / "cache")}


def ensured(environ: dict[str, str], *, repair: bool = False) -> list[Path]:
    return ensure_jars("s3", java=JAVA, environ=environ, repair=repair)


def tampered(jar: Path) -> None:
    """Changes a byte; size and time stay what they were."""
    times, content = jar.stat(), jar.read_bytes()
    jar.write_bytes(b"X" + content[1:])
    os.utime(jar, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.usefixtures("hashed")
def test_a_fetched_jar_with_another_hash_is_not_kept(environ: dict[str, str], served: dict[str, bytes]) -> None:
    served["two"] = b"X" + CONTENT["two"][1:]
    with pytest.raises(ExternalError) as caught:
        ensured(environ)
    assert caught.value.condition == "JARS_CHECKSUM_MISMATCH"
    assert caught.value.facts["actual"] == hashlib.sha256(served["two"]).hexdigest()
    assert not list(Path(environ["PENSTOCK_CACHE"]).rglob("*.jar"))


def test_a_jar_is_read_once_and_again_when_it_has_changed(environ: dict[str, str], hashed: list[str]) -> None:
    first, second = ensured(environ)
    hashed.clear()
    assert ensured(environ) == [first, second]
    assert hashed == []
    first.touch()
    assert ensured(environ) == [first, second]
    assert set(hashed) == {"one-1.jar", "two-1.jar"}
    hashed.clear()
    ensured(environ)
    assert hashed == []


@pytest.mark.usefixtures("hashed")
@pytest.mark.parametrize(
    "change", [tampered, lambda jar: jar.write_bytes(b"shorter"), lambda jar: jar.write_bytes(b"")]
)
def test_an_altered_jar_stops_the_start_until_setup_fetches_it_again(environ: dict[str, str], change: Any) -> None:
    _first, second = ensured(environ)
    assert altered_jars(environ=environ) == []
    change(second)
    [found] = altered_jars(environ=environ)
    for _ in range(2):
        with pytest.raises(ExternalError) as caught:
            ensured(environ)
        assert caught.value.condition == "JARS_ALTERED"
        assert caught.value.facts == found.facts
        assert (caught.value.facts["path"], caught.value.facts["command"]) == (str(second), "penstock setup --s3")
    ensured(environ, repair=True)
    assert second.read_bytes() == CONTENT["two"]
    assert altered_jars(environ=environ) == []
    ensured(environ)


@pytest.mark.usefixtures("hashed")
def test_a_record_of_the_check_that_is_damaged_means_another_check(environ: dict[str, str]) -> None:
    first, _second = ensured(environ)
    [record] = (Path(environ["PENSTOCK_CACHE"]) / "jars").glob("*.checked.json")
    tampered(first)
    for text in ("", "{}", "[]", "\0", "null"):
        record.write_text(text)
        with pytest.raises(ExternalError):
            ensured(environ)


@pytest.mark.usefixtures("hashed")
def test_doctor_looks_at_no_set_that_was_never_fetched_and_makes_no_cache(environ: dict[str, str]) -> None:
    assert altered_jars(environ=environ) == []
    assert not Path(environ["PENSTOCK_CACHE"]).exists()


def test_a_cache_with_all_jars_need_not_be_writable(
    environ: dict[str, str], hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = ensured(environ)

    def refuse(*_: object) -> Path:
        raise ConfigError("CACHE_NOT_WRITABLE", path="/cache", reason="Read-only file system")

    monkeypatch.setattr(jars_module, "cache_directory", refuse)
    assert ensured(environ) == fetched
    fetched[0].unlink()
    with pytest.raises(ConfigError):
        ensured(environ)

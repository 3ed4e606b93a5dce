"""A pipeline file that is no file, or far too much of one, is refused within a second."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.config import load_project
from penstock.config.values.secret import refer
from penstock.declare.code.notebook.files import read_source_text
from penstock.errors import ConfigError, DefinitionError

LAUGHS = "a0: &a0 [x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 30)
)
MERGES = "a0: &a0 {x: 1}\n" + "".join(
    f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 9)}]}}\n" for level in range(1, 30)
)
CONTENTS: dict[str, tuple[bytes, str]] = {
    "levels in brackets": (b"a: " + b"[" * 100_000, "CONFIG_SYNTAX"),
    "closed levels in brackets": (b"a: " + b"[" * 100_000 + b"]" * 100_000, "CONFIG_SYNTAX"),
    "levels in braces": (b"{a: " * 20_000, "CONFIG_SYNTAX"),
    "levels of dashes": (b"- " * 100_000, "CONFIG_TOO_LARGE"),
    "few levels too many": (b"a: " + b"[" * 201 + b"]" * 201, "CONFIG_SYNTAX"),
    "levels of lines": (b"".join(b" " * level + b"a:\n" for level in range(1000)), "CONFIG_SYNTAX"),
    "keys": (b"".join(b"key%d: 1\n" % number for number in range(300_000)), "CONFIG_TOO_LARGE"),
    "keys in a megabyte": (b"".join(b"k%d: 1\n" % number for number in range(90_000)), "CONFIG_TOO_LARGE"),
    "keys in one line": (b"{" + b",".join(b"k%d: 1" % number for number in range(40_000)) + b"}", "CONFIG_TOO_LARGE"),
    "entries": (b"name: x\nlibraries:\n" + b"- a\n" * 200_000, "CONFIG_TOO_LARGE"),
    "a long text": (b"name: " + b"x" * 2_000_000, "CONFIG_TOO_LARGE"),
    "aliases of aliases": (LAUGHS.encode(), "CONFIG_TOO_LARGE"),
    "merged aliases of aliases": (MERGES.encode(), "CONFIG_TOO_LARGE"),
    "an alias of itself": (b"name: x\nconfiguration: &a {b: *a}\n", "CONFIG_SYNTAX"),
    "a zero byte": (b"name: a\0b\n", "CONFIG_SYNTAX"),
    "no UTF-8": (b"name: \xff\n", "CONFIG_UNREADABLE"),
    "UTF-16": ("name: a\n".encode("utf-16"), "CONFIG_UNREADABLE"),
    "a key twice": (b"name: a\nname: b\n", "CONFIG_DUPLICATE_KEY"),
}


def refusal(read: Callable[[], object]) -> ConfigError:
    started = time.thread_time()
    with pytest.raises(ConfigError) as caught:
        read()
    assert time.thread_time() - started < 1
    return caught.value


@pytest.mark.parametrize("name", ["penstock.yml", "databricks.yml", "pipeline.json"])
@pytest.mark.parametrize("content", CONTENTS)
def test_what_no_parser_should_meet(tmp_path: Path, content: str, name: str) -> None:
    (tmp_path / name).write_bytes(CONTENTS[content][0])
    assert refusal(lambda: load_project(tmp_path)).condition == CONTENTS[content][1]


def test_a_gigabyte_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "penstock.yml").open("wb") as file:
        file.truncate(10**9)
    error = refusal(lambda: load_project(tmp_path))
    assert (error.condition, error.facts["reason"]) == ("CONFIG_TOO_LARGE", "it is larger than 1 MB")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (_pipe, "a named pipe"),
        (_socket, "a socket"),
        (lambda path: path.symlink_to("/dev/zero"), "a device"),
        (Path.mkdir, "a folder"),
    ],
)
def test_only_files_are_read(
    tmp_path: Path, make: Callable[[Path], None], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    make(Path("penstock.yml"))
    error = refusal(lambda: load_project(tmp_path))
    assert (error.condition, error.facts["reason"]) == ("CONFIG_UNREADABLE", f"it is {kind}, not a file")
    secret = refer("s", "file", "penstock.yml", directory=tmp_path, environ={}, location=None)
    assert refusal(secret.resolve).condition == "SECRET_NOT_FOUND"
    with pytest.raises(DefinitionError) as caught:
        read_source_text(tmp_path / "penstock.yml", tmp_path)
    assert caught.value.condition == "PIPELINE_FILE_UNREADABLE"


def test_a_byte_order_mark_and_a_symbolic_link_are_no_harm(tmp_path: Path) -> None:
    (tmp_path / "real.yml").write_bytes(b"\xef\xbb\xbfname: orders\n")
    (tmp_path / "penstock.yml").symlink_to(tmp_path / "real.yml")
    assert load_project(tmp_path).name == "orders"


def test_few_aliases_are_followed(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text(
        "name: a\nconfiguration: &c {x: 1}\nenvironments: {e: {configuration: *c}}\n"
    )
    assert load_project(tmp_path, environment="e").configuration == {"x": "1"}

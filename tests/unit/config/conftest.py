from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from penstock.errors import ConfigError, PenstockError, PipelineInvalid

Project = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Writes a pipeline file into a folder `orders` and makes the folder above it the current one."""
    monkeypatch.chdir(tmp_path)

    def write(text: str, file: str = "penstock.yml") -> Path:
        folder = tmp_path / "orders"
        folder.mkdir(exist_ok=True)
        (folder / file).write_text(dedent(text), encoding="utf-8")
        return Path("orders")

    return write


def errors_of(error: PenstockError) -> list[PenstockError]:
    return list(error.errors) if isinstance(error, PipelineInvalid) else [error]


def only(error: PenstockError) -> ConfigError:
    assert isinstance(error, ConfigError)
    assert error.exit_code == 2
    return error

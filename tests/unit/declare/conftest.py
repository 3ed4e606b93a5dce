"""A pipeline in a temporary directory, written and loaded in one call, without Spark."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.declare import PipelineRegistry, load_pipeline

Load = Callable[..., PipelineRegistry]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """`load("source", **{"other.py": "source"}, libraries=[...])`; the first text becomes `pipeline.py`."""

    def load_texts(text: str = "", *, libraries: list[str] | None = None, **options: Any) -> PipelineRegistry:
        files = {"pipeline.py": text} | {name: options.pop(name) for name in list(options) if name.endswith(".py")}
        for name, content in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(content), encoding="utf-8")
        names = libraries if libraries is not None else list(files)
        return load_pipeline([tmp_path / name for name in names], root=tmp_path, **options)

    return load_texts

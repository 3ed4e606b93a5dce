from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config import PipelineConfig, load_project
from penstock.config.keys import PENSTOCK
from penstock.errors import ConfigError, PenstockError, render

_INNER = ["glob", "include", "x", "tables", "destinations", "webhook", "email", "command", "run", "url", "freshness"]
NAMES = st.sampled_from([name for key in PENSTOCK.keys for name in (key.name, *key.aliases)] + _INNER)
VALUES = st.recursive(
    st.sampled_from(["a", "''", "1", "1.5", "true", "null", "~", "'${env:A}'", "'${secret:b}'", "10 seconds", "!x y"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.lists(st.tuples(NAMES, inner), max_size=3).map(
            lambda items: "{" + ", ".join(f"{name}: {value}" for name, value in items) + "}"
        )
    ),
    max_leaves=8,
)
FILES = st.lists(st.tuples(NAMES, VALUES), max_size=5, unique_by=lambda pair: pair[0]).map(
    lambda items: "".join(f"{name}: {value}\n" for name, value in {"name": "o", **dict(items)}.items())
)


FILE_NAMES = ("penstock.yml", "spark-pipeline.yml", "databricks.yml", "pipeline.json")
BUNDLES = st.tuples(VALUES, FILES).map(
    lambda parts: (
        f"variables: {{x: {parts[0]}}}\ntargets: {{dev: {parts[0]}}}\n"
        "resources:\n  pipelines:\n    a:\n      schema: ${var.x}\n"
        + "".join(f"      {line}\n" for line in parts[1].splitlines())
    )
)


@given(
    st.binary() | st.text().map(lambda text: text.encode("utf-8", "replace")) | (FILES | BUNDLES).map(str.encode),
    st.sampled_from(FILE_NAMES),
)
def test_any_file_is_settings_or_a_named_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str
) -> None:
    folder = tmp_path_factory.getbasetemp() / f"any-input-{name}"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    outcome = _load(folder)
    if isinstance(outcome, PipelineConfig):
        with suppress(ConfigError):
            outcome.resolve_spark_conf()
    else:
        assert outcome.exit_code == 2
        assert render(outcome)


def _load(folder: Path) -> PipelineConfig | PenstockError:
    try:
        return load_project(folder)
    except PenstockError as error:
        return error

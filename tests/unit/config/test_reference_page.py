from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.config.conftest import Project

from penstock.config import load_project
from penstock.config.keys import PENSTOCK
from penstock.config.shapes import ListOf, Section

PAGE = (Path(__file__).parents[3] / "docs/reference/penstock-yml.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml ?([\w.-]*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("file", "text"), BLOCKS, ids=[f"block-{index}" for index in range(len(BLOCKS))])
def test_each_example_loads(project: Project, file: str, text: str) -> None:
    project("resources: {pipelines: {orders_pipeline: {name: orders}, other: {}}}\n", "databricks.yml")
    folder = project(text, file or "penstock.yml")
    environments = re.findall(r"^  (\w+):$", text.partition("environments:\n")[2], re.MULTILINE)
    for environment in [None, *environments]:
        assert load_project(folder, environment=environment).name == "orders"


def test_the_page_names_every_key_with_its_default() -> None:
    for path, default in _paths(PENSTOCK, ""):
        row = next((line for line in PAGE.splitlines() if line.startswith(f"| `{path}`")), "")
        assert row, path
        assert not default or " " in default or f"`{default}`" in row, path


@pytest.mark.parametrize("key", [key for key in PENSTOCK.keys if key.name != "name"], ids=lambda key: key.name)
def test_the_example_and_the_default_of_each_key_load(project: Project, key: object) -> None:
    name, example, default = (getattr(key, field) for field in ("name", "example", "default"))
    project("resources: {pipelines: {orders_pipeline: {name: other}}}\n", "databricks.yml")
    start = "name: orders\nextends: databricks.yml" if name == "pipeline" else "name: orders"
    assert load_project(project(f"{start}\n{name}: {example}\n")).name == "orders"
    if default and name != "libraries":
        assert load_project(project(f"name: orders\n{name}: {default}\n")) == load_project(project("name: orders\n"))


def _paths(section: Section, above: str) -> Iterator[tuple[str, str]]:
    for key in section.keys:
        inner = key.shape.item if isinstance(key.shape, ListOf) else key.shape
        path = f"{above}{key.name}"
        if not (isinstance(inner, Section) and section.one_of):
            yield path, key.default
        if isinstance(inner, Section):
            yield from _paths(inner, "" if isinstance(key.shape, ListOf) else f"{path}.")

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.config.conftest import Project

from penstock.config import load_project
from penstock.errors import ConfigError, SourceLocation


def _files(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")


def _found(folder: Path) -> list[str]:
    files = load_project(folder).source_files()
    assert all(path.is_absolute() for path in files)
    return [path.relative_to(folder.resolve()).as_posix() for path in files]


def test_default_is_the_transformations_folder(project: Project) -> None:
    folder = project("name: o\n")
    _files(folder, "generate.py", "transformations/b.ipynb", "transformations/a/x.py", "transformations/test_b.py")
    _files(
        folder, "transformations/notes.md", "transformations/.hidden/y.py", "transformations/c.sql", "tests/test_b.py"
    )
    assert _found(folder) == ["transformations/a/x.py", "transformations/b.ipynb", "transformations/c.sql"]


def test_default_without_it_is_the_files_beside(project: Project) -> None:
    folder = project("name: o\n")
    _files(folder, "b.py", "a.py", "sub/c.py", "test_a.py", "a_test.py", "conftest.py", "query.sql", "tests/t.py")
    assert _found(folder) == ["a.py", "b.py", "query.sql"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("src/**", ["src/a.py", "src/deep/er/c.py", "src/test_b.py"]),
        ("src", ["src/a.py", "src/deep/er/c.py", "src/test_b.py"]),
        ("src/*.py", ["src/a.py", "src/test_b.py"]),
        ("**/c.py", ["src/deep/er/c.py"]),
        ("src/a.py", ["src/a.py"]),
        ("./src/../src/a.py", ["src/a.py"]),
    ],
)
def test_patterns(project: Project, pattern: str, expected: list[str]) -> None:
    folder = project(f"name: o\nlibraries: [{{glob: {{include: '{pattern}'}}}}]\n")
    _files(folder, "src/a.py", "src/test_b.py", "src/deep/er/c.py", "src/data.csv", "other.py")
    assert _found(folder) == expected


def test_files_are_listed_once(project: Project) -> None:
    folder = project("name: o\nlibraries: [{glob: {include: '*.py'}}, {file: {path: a.py}}, {file: {path: ./a.py}}]\n")
    _files(folder, "a.py", "[odd].py")
    assert _found(folder) == ["[odd].py", "a.py"]


def test_a_file_with_a_pattern_s_characters_in_its_name(project: Project) -> None:
    folder = project("name: o\nlibraries: [{file: {path: '[odd].py'}}]\n")
    _files(folder, "[odd].py", "o.py")
    assert _found(folder) == ["[odd].py"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("src/*.py", ["src/a.py", "src/test_b.py"]),
        ("./src/*", ["src/a.py", "src/b.sql", "src/n.ipynb", "src/test_b.py"]),
        ("src/**/*.py", ["src/deep/d.py"]),
        ("src/[ab].*", ["src/a.py", "src/b.sql"]),
        ("s?c/?.sql", ["src/b.sql"]),
    ],
)
def test_file_takes_a_pattern_as_in_the_databricks_cli(project: Project, pattern: str, expected: list[str]) -> None:
    folder = project(f"name: o\nlibraries: [{{file: {{path: '{pattern}'}}}}]\n")
    _files(
        folder,
        "src/a.py",
        "src/b.sql",
        "src/n.ipynb",
        "src/test_b.py",
        "src/x.csv",
        "src/deep/d.py",
        "src/deep/er/c.py",
    )
    assert _found(folder) == expected


@pytest.mark.parametrize(
    ("libraries", "pattern", "line"),
    [
        ("", "*.py", None),
        ("libraries:\n  - file: {path: a.py}\n  - file: {path: nope.py}\n", "nope.py", 4),
        ("libraries:\n  - file: {path: a.py}\n  - glob: {include: src/**}\n", "src/**", 4),
        ("libraries:\n  - glob: {include: data.csv}\n", "data.csv", 3),
    ],
)
def test_an_entry_that_matches_nothing(project: Project, libraries: str, pattern: str, line: int | None) -> None:
    folder = project(f"name: o\n{libraries}")
    if libraries:
        _files(folder, "a.py", "data.csv")
    with pytest.raises(ConfigError) as raised:
        load_project(folder).source_files()
    assert raised.value.condition == "CONFIG_NO_SOURCE_FILES"
    assert raised.value.location == SourceLocation("orders/penstock.yml", line)
    assert raised.value.facts == {"pattern": pattern, "directory": str(folder.resolve()), "elsewhere": ""}


def test_files_in_a_folder_that_is_not_named(project: Project) -> None:
    folder = project("name: o\n")
    _files(folder, "src/bronze/orders.py", "queries/gold.sql", ".hidden/x.py", "data/a.csv")
    with pytest.raises(ConfigError) as raised:
        load_project(folder).source_files()
    hint = "'libraries: [{glob: {include: queries/**}}, {glob: {include: src/**}}]'."
    assert raised.value.fix.endswith(f"in the pipeline file. For those below: {hint}")

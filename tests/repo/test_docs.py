"""The documentation is true: its pipelines load, its commands exist, its links lead somewhere, its parts are current.

The tutorial's commands are run by tests/integration/test_tutorial.py.
"""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.repo.documents import PAGES, ROOT, Block, blocks, links

from penstock.cli.command_table import all_commands
from penstock.declare import load_pipeline
from penstock.errors.catalogue import conditions

ALL_BLOCKS = [block for page in PAGES for block in blocks(page)]
PYTHON = [block for block in ALL_BLOCKS if block.kind == "python"]
PIPELINES = [block for block in ALL_BLOCKS if block.kind in {"python", "sql"} and "pipeline" in block.marks]
SHELL = [block for block in ALL_BLOCKS if block.kind in {"sh", "console"}]


@cache
def commands() -> dict[str, Any]:
    """Returns every command by the words that call it, those of groups too."""
    return {words: command.load() for words, command in all_commands().items()}


@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_python_blocks_compile(block: Block) -> None:
    ast.parse(block.text, filename=str(block))


@pytest.mark.parametrize("block", PIPELINES, ids=str)
def test_blocks_marked_as_pipelines_declare_datasets_without_an_error(block: Block, tmp_path: Path) -> None:
    file = tmp_path / f"pipeline.{'sql' if block.kind == 'sql' else 'py'}"
    file.write_text(block.text)
    configuration = {"broker": "localhost:9092", "tls": "localhost:9093", "source": "./data"}
    registry = load_pipeline([file], root=tmp_path, configuration=configuration)
    assert list(registry.errors) == []
    assert registry.datasets


def test_the_page_for_newcomers_shows_a_pipeline() -> None:
    assert any(block.page.name == "README.md" and block.page.parent == ROOT for block in PIPELINES)


def _penstock_calls(block: Block) -> list[list[str]]:
    """Returns the words of each call of penstock in a block."""
    calls = []
    for line in re.sub(r"<<'(\w+)'\n.*?\n\1\n", "\n", block.text, flags=re.DOTALL).splitlines():
        if re.match(r"(\S*/)?penstock\s", line):
            words = shlex.split(line.partition(" >")[0].partition(" ||")[0], comments=True)
            calls.append(words[1:])
    return calls


@pytest.mark.parametrize("block", [block for block in SHELL if _penstock_calls(block)], ids=str)
def test_commands_and_flags_in_shell_blocks_exist(block: Block) -> None:
    known = commands()
    for words in _penstock_calls(block):
        name = words[0] if words[0] in known else " ".join(words[:2])
        assert name in known, words
        flags = {flag for parameter in known[name].params for flag in parameter.opts} | {"--help", "--debug"}
        assert {word.partition("=")[0] for word in words[1:] if word.startswith("-")} <= flags, words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_of_the_repository(page: Path) -> None:
    missing = [
        target
        for target in links(page)
        if "://" not in target and not target.startswith("#") and not (page.parent / target.partition("#")[0]).exists()
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_of_source_files_in_pages_exist(page: Path) -> None:
    named = set(re.findall(r"`((?:src|tests|tools|docs|benchmarks)/[\w./-]+\.\w+)`", page.read_text(encoding="utf-8")))
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_command_reference_is_current() -> None:
    tool = ROOT / "tools/generate_cli_reference.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], check=False)
    assert done.returncode == 0, "run: python tools/generate_cli_reference.py"


def test_the_command_reference_has_every_command() -> None:
    page = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    assert [name for name in commands() if f"## penstock {name}" not in page] == []


PROMISES = ROOT / "docs/guarantees.md"
LINK_TO_TESTS = re.compile(r"\[([^\]]+)\]\(([^)]+\.py)\)([^\[|]*)")


@pytest.mark.parametrize(
    "page", [PROMISES, ROOT / "docs/reference/event-time-bad-input.md"], ids=lambda page: page.name
)
def test_each_promise_names_a_test_that_exists(page: Path) -> None:
    named = list(_named_tests(page, page.read_text(encoding="utf-8")))
    assert len(named) > 10
    assert [test for test, file, _ in named if _definition(file, test) is None] == []


@pytest.mark.parametrize(
    "page", [PROMISES, ROOT / "docs/reference/event-time-bad-input.md"], ids=lambda page: page.name
)
def test_a_promise_says_which_of_its_tests_are_slow(page: Path) -> None:
    named = _named_tests(page, page.read_text(encoding="utf-8"))
    assert [test for test, file, said in named if _is_slow(file, test) and "slow" not in said] == []


def test_each_promise_names_a_test_that_ci_runs() -> None:
    tables = re.findall(r"(?:^\|.*\n)+", PROMISES.read_text(encoding="utf-8"), re.MULTILINE)
    of_promises = [table.splitlines() for table in tables if re.match(r"\| promise \|.* tested by \|\n", table)]
    promises = [row for _, _, *rows in of_promises for row in rows]
    assert len(promises) > 70
    slow = [row for row in promises if all(_is_slow(file, test) for test, file, _ in _named_tests(PROMISES, row))]
    assert slow == [], "each names none, or slow ones only"


def _named_tests(page: Path, text: str) -> Iterator[tuple[str, Path, str]]:
    """Yields the tests that a text of a page links to: the name, the file, and what is said of it."""
    for names, file, said in LINK_TO_TESTS.findall(text):
        for name in re.findall(r"\b(?:test_|Test)\w+", names):
            yield name, (page.parent / file).resolve(), names + said


def _is_slow(file: Path, test: str) -> bool:
    """Whether each case of a test, or class of tests, is marked as slow; where only some are, its others run in CI."""
    module = any(
        "mark.slow" in ast.unparse(node)
        for node in _parsed(file).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    )
    definition = _definition(file, test)
    return module or (definition is not None and "pytest.mark.slow" in map(ast.unparse, definition.decorator_list))


def _definition(file: Path, test: str) -> ast.FunctionDef | ast.ClassDef | None:
    tree = ast.walk(_parsed(file))
    found = (node for node in tree if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == test)
    return next(found, None)


@cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def test_the_conditions_of_bad_event_times_exist() -> None:
    page = (ROOT / "docs/reference/event-time-bad-input.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([A-Z][A-Z_]{8,})`", page)) - {"TIMESTAMP", "TIMESTAMP_NTZ"}
    assert len(named) > 11
    assert named <= set(conditions())


def test_the_table_of_guide_snippets_names_tests_that_exist() -> None:
    page = (ROOT / "docs/reference/guide-snippets.md").read_text(encoding="utf-8")
    folder = ROOT / "tests/spark/script"
    tests = "".join((folder / f"test_{name}.py").read_text(encoding="utf-8") for name in ("guides", "deep_dive_guide"))
    named = {
        name for row in page.splitlines() if "](" not in row for name in re.findall(r"\btest_[a-z_]+\b(?!\.py)", row)
    }
    assert named == set(re.findall(r"def (test_[a-z_]+)", tests))


def test_the_page_on_connectors_shows_the_code_that_is_tested() -> None:
    sources = [ROOT / "examples/penstock_sqlite/penstock_sqlite.py", ROOT / "tests/spark/connectors/test_sqlite.py"]
    tested = "".join(file.read_text(encoding="utf-8") for file in sources)
    page = ROOT / "docs/how-to/write-a-connector.md"
    shown = [block for block in blocks(page) if block.kind == "python" and "pipeline" not in block.marks]
    lines = {line.strip() for line in tested.splitlines()}
    for block in shown:
        assert [line for line in block.text.splitlines() if line.strip() not in lines] == [], block
    assert len(shown) == 5

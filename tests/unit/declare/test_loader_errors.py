"""What is wrong in files: told all together, each with its place, and nothing that was declared is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.declare.conftest import Load

from penstock.declare import load_pipeline
from penstock.errors import DefinitionError, PenstockError


def test_all_errors_of_all_files(load: Load) -> None:
    registry = load(
        "import dlt\n@dlt.table(nam='x')\ndef good(): ...\nraise ValueError('first line\\nsecond')\n",
        **{
            "syntax.py": "import dlt\ndlt.create_streaming_table('before'\n",
            "indented.py": "def f():\nreturn 1\n",
            "deep.py": "import helper\nhelper.go()\n",
            "helper.py": "def go():\n    return 1 / 0\n",
            "exits.py": "import sys\n\nsys.exit(3)\n",
            "unknown.py": "import dlt\ndlt.tabel\n",
            "unknown_import.py": "from pyspark.pipelines import materialised_view\n",
            "unknown_ps.py": "import penstock as ps\nps.expct\n",
            "no_module.py": "import dlt\nimport nonexistent_thing\n",
        },
    )
    assert registry.incomplete
    assert [(e.condition, str(e.location)) for e in registry.errors] == [
        ("UNKNOWN_PARAMETER", "pipeline.py:2"),
        ("PIPELINE_FILE_FAILED", "pipeline.py:4"),
        ("SYNTAX_ERROR_IN_PIPELINE_FILE", "syntax.py:2"),
        ("SYNTAX_ERROR_IN_PIPELINE_FILE", "indented.py:2"),
        ("PIPELINE_FILE_FAILED", "helper.py:2"),
        ("PIPELINE_FILE_FAILED", "exits.py:3"),
        ("UNKNOWN_DECLARATION", "unknown.py:2"),
        ("UNKNOWN_DECLARATION", "unknown_import.py:1"),
        ("UNKNOWN_DECLARATION", "unknown_ps.py:2"),
        ("PIPELINE_FILE_FAILED", "no_module.py:2"),
    ]
    facts = [e.facts for e in registry.errors]
    assert facts[1] == {"error": "ValueError", "reason": "first line"}
    assert facts[4]["error"] == "ZeroDivisionError"
    assert facts[5] == {"error": "SystemExit", "reason": "3"}
    assert (facts[6]["module"], facts[6]["name"], facts[6]["suggestion"]) == ("dlt", "tabel", "Did you mean 'table'?")
    assert facts[7]["suggestion"] == "Did you mean 'materialized_view'?"
    assert facts[9]["error"] == "ModuleNotFoundError"
    assert [d.identifier.name for d in registry.datasets] == ["good"], "what was declared before a failure stays"
    assert all("\n" not in value for fact in facts for value in fact.values())


def test_a_failing_module_fails_once(load: Load) -> None:
    registry = load(
        "import broken\n",
        **{
            "again.py": "import broken\n",
            "broken.py": "import dlt\ndlt.create_streaming_table('t')\nraise RuntimeError('no')\n",
        },
    )
    assert [(e.condition, str(e.location)) for e in registry.errors] == [("PIPELINE_FILE_FAILED", "broken.py:3")]
    assert len(registry.datasets) == 1


def test_exceptions_that_cannot_be_printed(load: Load) -> None:
    registry = load("class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd\n")
    assert registry.errors[0].facts == {"error": "Odd", "reason": "no message"}


def test_long_messages_are_cut(load: Load) -> None:
    registry = load("raise ValueError('x' * 5000)\n")
    assert len(registry.errors[0].facts["reason"]) == 300


def test_exceptions_of_another_system_can_be_translated(load: Load) -> None:
    def translate(failure: BaseException) -> PenstockError | None:
        return DefinitionError("SQL_CONF_NOT_FOUND", key="k") if isinstance(failure, LookupError) else None

    registry = load("\n[][0]\n", **{"other.py": "raise ValueError\n"}, translate=translate)
    assert [(e.condition, str(e.location)) for e in registry.errors] == [
        ("SQL_CONF_NOT_FOUND", "pipeline.py:2"),
        ("PIPELINE_FILE_FAILED", "other.py:1"),
    ]


def test_interrupt_is_not_swallowed(load: Load) -> None:
    with pytest.raises(KeyboardInterrupt):
        load("raise KeyboardInterrupt\n")


def test_unreadable_files(tmp_path: Path) -> None:
    (tmp_path / "latin.py").write_bytes(b"x = '\xe9'\n")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "nul.py").write_bytes(b"x = 1\0\n")
    names = ["latin.py", "folder.py", "missing.py", "nul.py"]
    registry = load_pipeline([tmp_path / name for name in names], root=tmp_path)
    assert [(e.condition, e.location.path if e.location else None) for e in registry.errors] == [
        ("PIPELINE_FILE_UNREADABLE", "latin.py"),
        ("PIPELINE_FILE_UNREADABLE", "folder.py"),
        ("PIPELINE_FILE_UNREADABLE", "missing.py"),
        ("SYNTAX_ERROR_IN_PIPELINE_FILE", "nul.py"),
    ]
    assert registry.errors[0].facts["reason"] == "it is not UTF-8 text"

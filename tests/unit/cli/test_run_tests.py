"""`penstock test`: what it runs, and how it ends."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.cli_runner import penstock
from typer.testing import CliRunner

from penstock.cli.main import app


def test_exit_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # those of this repository take a second to load
    (tmp_path / "tests").mkdir()
    nothing = penstock("test", cwd=tmp_path).expect(2)
    assert "[TESTS_NOT_FOUND]" in nothing.stderr
    assert "Fix:" in nothing.stderr
    (tmp_path / "tests/test_it.py").write_text("def test_good():\n    pass\n\n\ndef test_bad():\n    assert 1 == 2\n")
    assert "1 failed, 1 passed" in penstock("test", cwd=tmp_path).expect(1).stdout
    chosen = penstock("test", "tests/test_it.py::test_good", "-k", "good", cwd=tmp_path).expect(0)
    assert "1 passed" in chosen.stdout
    assert "warning" not in chosen.stdout
    (tmp_path / "tests/test_it.py").write_text("def test_broken(:\n")
    assert "SyntaxError" in penstock("test", cwd=tmp_path).expect(2).stdout


def test_what_keeps_tests_from_running(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runner = CliRunner()
    nowhere = runner.invoke(app, ["test", str(tmp_path / "nowhere")])
    assert nowhere.exit_code == 2
    assert "[TESTS_NOT_FOUND]" in nowhere.stderr
    monkeypatch.setitem(sys.modules, "pytest", None)
    missing = runner.invoke(app, ["test", str(tmp_path)])
    assert missing.exit_code == 2
    assert "[PYTEST_NOT_INSTALLED]" in missing.stderr
    assert "penstock[test]" in missing.stderr

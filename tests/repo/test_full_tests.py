from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tools import full_tests

_SLOW = "import pytest\n\n@pytest.mark.slow\ndef test_it():\n    assert {}\n\ndef test_quick():\n    assert 0\n"
_MARKED_ELSEWHERE = "import marked\n\ntest_it = marked.slow_test\n"


def test_a_part_goes_on_where_the_last_one_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_a.py").write_text(_SLOW.format(1))
    (tests / "test_b.py").write_text(_SLOW.format(0))
    (tests / "marked.py").write_text("import pytest\n\n@pytest.mark.slow\ndef slow_test():\n    pass\n")
    (tests / "test_d.py").write_text(_MARKED_ELSEWHERE)
    (tests / "test_c.py").write_text("def test_quick():\n    assert 0\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    for command in (["init", "-q"], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "x", "--allow-empty"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # those of this repository take a second to load
    monkeypatch.setattr(full_tests, "ROOT", tmp_path)
    monkeypatch.setattr(full_tests, "DONE", tmp_path / "done.json")
    assert full_tests.main(0) == 0
    assert "0 of 3 files passed at this commit, 0 failed, 3 left" in capfd.readouterr().out
    assert full_tests.main(60) == 1
    assert "2 of 3 files passed at this commit, 1 failed, 0 left" in capfd.readouterr().out
    (tests / "test_b.py").write_text(_SLOW.format(1))
    assert full_tests.main(60) == 0
    said = capfd.readouterr().out
    assert "test_a.py" not in said
    assert "3 of 3 files passed at this commit, 0 failed, 0 left" in said

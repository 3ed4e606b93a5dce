"""The hook of `.pre-commit-hooks.yaml`, run by pre-commit itself on the files of a commit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

MANIFEST = Path(__file__).parents[3] / ".pre-commit-hooks.yaml"
ONCE = 'spark.readStream.table("a").writeStream.trigger(once=True).toTable("b").awaitTermination()\n'


def commit_files(folder: Path, hook: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Runs the hook on all files of a new repository; pre-commit installs nothing, because Penstock is installed."""
    local = {**hook, "language": "system"}
    config = {"repos": [{"repo": "local", "hooks": [local]}]}
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PRE_COMMIT_HOME": str(folder.parent / "pre-commit"),
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    for words in (["git", "init", "--quiet"], ["git", "add", "--all"]):
        subprocess.run(words, cwd=folder, env=environment, check=True)
    words = [sys.executable, "-m", "pre_commit", "run", "--all-files", "--color", "never"]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def hook() -> dict[str, Any]:
    subprocess.run([sys.executable, "-m", "pre_commit", "validate-manifest", str(MANIFEST)], check=True)
    [only] = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    assert isinstance(only, dict)
    return only


def test_it_gets_the_files_that_lint_reads_and_fails_on_findings(hook: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "job one.py").write_text(ONCE)
    (folder / "a.sql").write_text("CREATE LIVE TABLE a AS SELECT * FROM STREAM(LIVE.b);\n")
    (folder / "notes.txt").write_text(ONCE)
    done = commit_files(folder, hook)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"job one.py:1:{ONCE.index('once=') + 1}: warning: [trigger-once]" in done.stdout
    assert "a.sql:1:24: error: [stream-in-materialized-view]" in done.stdout
    assert "2 files looked at" in done.stdout


def test_it_passes_where_nothing_is_found(hook: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    done = commit_files(folder, hook)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout

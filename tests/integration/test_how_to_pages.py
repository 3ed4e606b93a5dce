"""How-to pages, typed as they stand: all `sh` blocks of a page in one shell, with Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.repo.documents import ROOT, blocks

PRINTED = {
    "replay-a-batch": [" equal, 0 only in the replay, 0 only in the table", "the rows differ"],
    "look-at-state": ["stateStoreSave", "window.start", '"operator": 0'],
    "test-a-pipeline": ["2 passed", "1 passed", "3 passed"],
}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PRINTED)
def test_every_step_of_the_page_works(tmp_path: Path, page: str) -> None:
    steps = [block.text for block in blocks(ROOT / f"docs/how-to/{page}.md") if block.kind == "sh"]
    programs = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euc", "".join(steps)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert [words for words in PRINTED[page] if words not in done.stdout] == []
    assert list((tmp_path / "shop/.penstock").glob("scratch/*")) == []

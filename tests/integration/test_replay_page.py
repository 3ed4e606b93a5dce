"""The page about replays, typed as it stands: its `sh` blocks in one shell, with Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.repo.documents import ROOT, blocks


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_step_of_the_page_works(tmp_path: Path) -> None:
    steps = [block.text for block in blocks(ROOT / "docs/how-to/replay-a-batch.md") if block.kind == "sh"]
    programs = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euc", "".join(steps)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "1,000 equal, 0 only in the replay, 0 only in the table" in done.stdout
    assert "the rows differ" in done.stdout
    assert list((tmp_path / "shop/.penstock/scratch").iterdir()) == []

"""The tutorial, typed as it stands: every `sh` block of docs/tutorial.md in one shell, with Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.repo.documents import ROOT, blocks

# A function shows which block failed; `set -e` ends at the first failure, as a reader would.
HEAD = "set -eu\nexport PS4='+ '\n"


@pytest.mark.timeout(900)
def test_every_step_of_the_tutorial_works(tmp_path: Path) -> None:
    steps = [block for block in blocks(ROOT / "docs/tutorial.md") if block.kind == "sh"]
    assert len(steps) >= 8
    script = HEAD + "".join(f"echo '== {step}'\n{step.text}" for step in steps)
    programs = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "silver_orders is right" in done.stdout

"""A page of the documentation, typed as it stands: all `sh` blocks in one shell, on the process of `one_process`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.repo.documents import ROOT, blocks


def type_page(page: str, folder: Path, environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Types the blocks of `docs/{page}.md` in `folder`, and fails with what they said when one of them fails."""
    steps = [block for block in blocks(ROOT / f"docs/{page}.md") if block.kind == "sh"]
    script = "".join(f"echo '== {step}'\n{step.text}" for step in steps)  # shows which block failed
    done = subprocess.run(
        ["bash", "-euc", script],
        cwd=folder,
        env={**os.environ, **(environ or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done

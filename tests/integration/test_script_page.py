"""docs/how-to/run-a-script.md, typed as it stands: `penstock script` in processes of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.oracle.tables import read_table
from tests.repo.documents import ROOT, blocks


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_page_runs_a_script_twice_and_looks_at_it(tmp_path: Path) -> None:
    steps = [block.text for block in blocks(ROOT / "docs/how-to/run-a-script.md") if block.kind == "sh"]
    programs = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euc", "".join(steps)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    told = ["QUERY_CHECKPOINT_CHOSEN", "TRIGGER_ONCE_REPLACED", "QUERIES_NOT_AWAITED"]
    assert [done.stderr.count(f"[{name}]") for name in told] == [2, 2, 2]
    assert "at orders.py:12\n" in done.stderr
    assert "Traceback" not in done.stderr
    hours = {(row["shop"], row["amount"]) for row in read_table(tmp_path / "hourly")}
    assert hours == {("north", 40), ("south", 20)}
    assert len(read_table(tmp_path / ".penstock/scripts/orders/tables/shop/bronze")) == 3

"""docs/how-to/jdbc.md, typed as it stands beside a real PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from tests.postgres_server import PASSWORD, USER, PostgresServer
from tests.repo.documents import ROOT, blocks


@pytest.mark.timeout(300)
def test_every_step_of_the_page_works(tmp_path: Path) -> None:
    steps = [block.text for block in blocks(ROOT / "docs/how-to/jdbc.md") if block.kind == "sh"]
    programs = Path(sys.executable).parent
    with PostgresServer() as server:
        environment = {
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PGHOST": "127.0.0.1",
            "PGPORT": str(server.port),
            "PGUSER": USER,
            "PGPASSWORD": PASSWORD,
            "PGDATABASE": "postgres",
        }
        done = subprocess.run(
            ["bash", "-euc", "".join(steps)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        assert "rows read back: 2 sum: 111.90" in done.stdout
        orders = [(1, Decimal("12.00"), {"gift": False}), (2, Decimal("99.90"), None)]
        assert server.rows("SELECT id, amount, details FROM orders ORDER BY id") == orders
        assert server.rows("SELECT count(*) FROM order_log") == [(3,)]
        assert server.rows("SELECT count(*) FROM totals") == [(3,)]

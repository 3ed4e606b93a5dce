"""docs/how-to/jdbc.md, typed as it stands beside a real PostgreSQL."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from tests.integration.typed_page import type_page
from tests.postgres_server import PASSWORD, USER, PostgresServer

pytestmark = pytest.mark.usefixtures("one_process")


@pytest.mark.timeout(300)
def test_every_step_of_the_page_works(tmp_path: Path) -> None:
    with PostgresServer() as server:
        environment = {
            "PGHOST": "127.0.0.1",
            "PGPORT": str(server.port),
            "PGUSER": USER,
            "PGPASSWORD": PASSWORD,
            "PGDATABASE": "postgres",
        }
        done = type_page("how-to/jdbc", tmp_path, environment)
        assert "rows read back: 2 sum: 111.90" in done.stdout
        orders = [(1, Decimal("12.00"), {"gift": False}), (2, Decimal("99.90"), None)]
        assert server.rows("SELECT id, amount, details FROM orders ORDER BY id") == orders
        assert server.rows("SELECT count(*) FROM order_log") == [(3,)]
        assert server.rows("SELECT count(*) FROM totals") == [(3,)]

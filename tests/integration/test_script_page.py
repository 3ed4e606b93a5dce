"""docs/how-to/run-a-script.md, typed as it stands: `penstock script` in processes of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.typed_page import type_page
from tests.oracle.tables import read_table

pytestmark = pytest.mark.usefixtures("one_process")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_page_runs_a_script_twice_and_looks_at_it(tmp_path: Path) -> None:
    done = type_page("how-to/run-a-script", tmp_path)
    told = ["QUERY_CHECKPOINT_CHOSEN", "TRIGGER_ONCE_REPLACED", "QUERIES_NOT_AWAITED"]
    assert [done.stderr.count(f"[{name}]") for name in told] == [2, 2, 2]
    assert "at orders.py:12\n" in done.stderr
    assert "Traceback" not in done.stderr
    hours = {(row["shop"], row["amount"]) for row in read_table(tmp_path / "hourly")}
    assert hours == {("north", 40), ("south", 20)}
    assert len(read_table(tmp_path / ".penstock/scripts/orders/tables/shop/bronze")) == 3

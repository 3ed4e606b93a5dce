"""`penstock test` in a new project, as its user meets it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli_runner import penstock


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_new_project_passes_its_tests_and_says_what_breaks_them(tmp_path: Path) -> None:
    penstock("init", tmp_path / "shop").expect(0)
    pipeline = tmp_path / "shop/transformations/orders.py"
    passed = penstock("test", cwd=tmp_path / "shop", environ={"PYTEST_ADDOPTS": "--durations=0"}).expect(0)
    assert "2 passed" in passed.stdout
    assert not (tmp_path / "shop/.penstock").exists()

    pipeline.write_text(pipeline.read_text().replace('"amount > 0"', '"amount > 50"'))
    failed = penstock("test", "tests", "-k", "silver", cwd=tmp_path / "shop").expect(1)
    assert "missing: order_id='o1', amount=20.0" in failed.stdout

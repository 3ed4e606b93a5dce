"""`make test-changed` finds the tests that import a changed module, are named after it, or have changed themselves."""

from __future__ import annotations

import pytest
from tests.repo.documents import ROOT
from tools.changed_tests import broken_by

_TESTS = sorted((ROOT / "tests/unit").rglob("test_*.py"))


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ("src/penstock/spark/accelerators/accelerator.py", "tests/unit/spark/test_accelerators.py"),
        ("src/penstock/storage/exchange.py", "tests/unit/storage/test_exchange.py"),
        ("tests/unit/plan/test_planner.py", "tests/unit/plan/test_planner.py"),
    ],
)
def test_a_change_leads_to_its_tests(changed: str, found: str) -> None:
    assert ROOT / found in set(broken_by([changed], _TESTS))


def test_a_change_of_a_page_leads_to_none() -> None:
    assert list(broken_by(["docs/tutorial.md"], _TESTS)) == []

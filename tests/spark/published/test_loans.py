"""Loan transactions: three sources, expectations, and the rows that break them in a table of their own."""

from __future__ import annotations

import pytest
from tests.spark.published.conftest import Published
from tests.spark.published.loans import Loans


@pytest.mark.parametrize("folder", ["loans_notebook", pytest.param("sql_loans_live", marks=pytest.mark.slow)])
def test_loans(published: Published, folder: str) -> None:
    pipeline = published(folder)
    loans = Loans()
    loans.arrive(pipeline, 40)
    pipeline.run()

    pipeline.check("txs_clean", loans.cleaned())
    pipeline.check("txs_quarantined", loans.quarantined())
    pipeline.check("old_loans", loans.historical())
    pipeline.check("balances_by_country", loans.total_balances())
    pipeline.check("balances_by_center", loans.by_cost_center())

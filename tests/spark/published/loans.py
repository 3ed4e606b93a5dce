"""The loans that the Python and the SQL pipeline read, and what both must make of them."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake
from tests.spark.published.published_pipeline import PublishedPipeline

Row = dict[str, Any]
_TREATMENTS = {1: "amortised cost", 2: "fair value", 3: "held for sale"}
_GRADES = "ABCDEFG"


@dataclass(frozen=True, slots=True)
class Loans:
    """The rows that arrived."""

    transactions: list[Row] = field(default_factory=list)
    history: list[Row] = field(default_factory=list)

    def arrive(self, pipeline: PublishedPipeline, count: int) -> None:
        """Lets a file of transactions and one of history arrive, beside the reference table."""
        chance = random.Random(3)
        reference = pa.table({"id": list(_TREATMENTS), "treatment": list(_TREATMENTS.values())})
        write_deltalake(str(pipeline.directory / "data" / "treatments"), reference)
        transactions = [_transaction(chance) for _ in range(count)]
        history = [_historical(chance) for _ in range(count)]
        pipeline.json("txs_json/1.json", transactions)
        pipeline.csv("old_loans_csv/1.csv", history)
        self.transactions.extend(transactions)
        self.history.extend(history)

    def new(self) -> list[Row]:
        """The transactions with a known treatment; dates as text."""
        return [
            row | {"treatment": _TREATMENTS[row["treatment_id"]]}
            for row in self.transactions
            if row["treatment_id"] in _TREATMENTS
        ]

    def cleaned(self) -> list[Row]:
        """The transactions whose balances are positive."""
        return [row for row in self.new() if row["balance"] > 0 and row["arrears_balance"] > 0]

    def quarantined(self) -> list[Row]:
        """The transactions with a balance that is not positive."""
        return [row for row in self.new() if row["balance"] <= 0 or row["arrears_balance"] <= 0]

    def historical(self) -> list[Row]:
        """The old loans with a known treatment and recoveries."""
        names = ("grade", "balance", "recoveries", "country_code")
        return [
            {name: row[name] for name in names} | {"treatment": _TREATMENTS[row["treatment_id"]]}
            for row in self.history
            if row["treatment_id"] in _TREATMENTS and row["recoveries"] is not None
        ]

    def total_balances(self) -> list[Row]:
        """Balances by country, of the old and of the new loans."""
        return _sums(self.historical(), "country_code", "location_code", "bal") + _sums(
            self.cleaned(), "country_code", "location_code", "bal"
        )

    def by_cost_center(self) -> list[Row]:
        """Balances of the new loans by cost center."""
        return _sums(self.cleaned(), "cost_center_code", "cost_center_code", "sum_balance")


def _sums(rows: Iterable[Row], key: str, name: str, total: str) -> list[Row]:
    sums: dict[Any, int] = defaultdict(int)
    for row in rows:
        sums[row[key]] += row["balance"]
    return [{name: value, total: amount} for value, amount in sums.items()]


def _transaction(chance: random.Random) -> Row:
    return {
        "treatment_id": chance.randrange(1, 5),  # 4 has no treatment
        "arrears_balance": chance.randrange(-20, 100),
        "balance": chance.randrange(-20, 900),
        "cost_center_code": chance.choice(("alpha", "beta", "gamma")),
        "country_code": chance.choice(("FR", "DE", "US")),
        "next_payment_date": str(date(chance.choice((2019, 2020, 2021, 2022)), 12, 31)),
    }


def _historical(chance: random.Random) -> Row:
    return {
        "treatment_id": chance.randrange(1, 5),
        "balance": chance.randrange(1, 900),
        "country_code": chance.choice(("FR", "DE", "US")),
        "grade": chance.choice(_GRADES + "Z"),
        "recoveries": chance.choice((None, 0, 17)),
    }

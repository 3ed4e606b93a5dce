"""One flow over the same files, with other expectations each time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FILES_IN_BATCH = 4
WARM_UP = 1
"""So many batches of each run are not timed: they pay for the table's creation and the query's first plan."""

BAD_EVERY = 100
"""One row of so many breaks the rule of the dropping and the quarantining variant, in each file."""

TEN_CONDITIONS, PUT_ASIDE = "10 conditions by hand", "1 % put aside by hand"

SCHEMA = "order_id STRING, customer_id STRING, product STRING, quantity LONG, amount DOUBLE, sent_at TIMESTAMP"

_PIPELINE = """\
import penstock as ps


@ps.table
{decorators}
def orders():
    return spark.readStream.schema({schema!r}).option("maxFilesPerTrigger", {files}).json({source!r})
"""

TEN_RULES = {
    "has an id": "order_id IS NOT NULL",
    "id as agreed": "order_id LIKE 'order-%'",
    "has a customer": "customer_id IS NOT NULL",
    "customer as agreed": "length(customer_id) > 9",
    "a product": "product IN ('Teapot', 'Cup', 'Saucer', 'Spoon')",
    "some quantity": "quantity > 0",
    "no wholesale": "quantity < 100",
    "positive amount": "amount > 0",
    "plausible amount": "amount / quantity < 10000",
    "sent in this century": "sent_at >= '2000-01-01'",
}


@dataclass(frozen=True, slots=True)
class Variant:
    """A pipeline to time. `base` names the variant that it is compared with, `goal` the greatest ratio to it.

    `decorators` is None for a flow that `benchmarks.expectations.by_hand` has.
    """

    what: str
    decorators: str | None
    base: str | None = None
    goal: float | None = None


VARIANTS = (
    Variant("no rule", ""),
    Variant("10 rules", f"@ps.expect_all({TEN_RULES!r})", "no rule", 1.05),
    Variant(TEN_CONDITIONS, None, "no rule"),
    Variant("1 % dropped", '@ps.expect_or_drop("positive amount", "amount > 0")'),
    Variant("1 % quarantined", '@ps.expect_or_quarantine("positive amount", "amount > 0")', "1 % dropped", 1.15),
    Variant(PUT_ASIDE, None, "1 % dropped"),
    Variant("nothing to quarantine", '@ps.expect_or_quarantine("an id", "order_id IS NOT NULL")', "no rule", 1.15),
)


def write_input(folder: Path, rows: int, batches: int) -> int:
    """Writes the rows as JSON files, for so many batches, and returns how many of them are bad."""
    folder.mkdir(parents=True)
    products = ("Teapot", "Cup", "Saucer", "Spoon")
    files, bad_rows = batches * FILES_IN_BATCH, 0
    for part in range(files):
        with (folder / f"{part:02}.json").open("w", encoding="utf-8") as file:
            for place, number in enumerate(range(part, rows, files)):
                bad = place % BAD_EVERY == 0
                bad_rows += bad
                row = {
                    "order_id": f"order-{number:09}",
                    "customer_id": f"customer-{number % 5000:05}",
                    "product": products[number % 7 % 4],
                    "quantity": number % 9 + 1,
                    "amount": -1.0 if bad else number % 977 + 0.25,
                    "sent_at": f"2026-01-01T{number % 24:02}:{number % 60:02}:00Z",
                }
                file.write(json.dumps(row) + "\n")
    return bad_rows


def write_project(folder: Path, variant: Variant, source: Path) -> None:
    """Writes the pipeline of a variant that has one."""
    folder.mkdir(parents=True)
    (folder / "penstock.yml").write_text("name: expectations\nschema: bench\n", encoding="utf-8")
    code = _PIPELINE.format(schema=SCHEMA, decorators=variant.decorators, source=str(source), files=FILES_IN_BATCH)
    (folder / "pipeline.py").write_text(code, encoding="utf-8")


def check_totals(what: str, metrics: Mapping[str, int], rows: int, bad: int) -> None:
    """Makes sure that a run wrote what it should; a fast run that loses rows is no result."""
    aside = (rows - bad, 0, bad)
    expected = {
        "1 % dropped": (rows - bad, bad, 0),
        "1 % quarantined": aside,
        PUT_ASIDE: aside,
        TEN_CONDITIONS: (rows - bad, 0, 0),
    }.get(what, (rows, 0, 0))
    found = (metrics["num_output_rows"], metrics["dropped_records"], metrics["quarantined_records"])
    if found != expected:
        raise SystemExit(f"{what}: wrote, dropped, quarantined {found}, expected {expected}")

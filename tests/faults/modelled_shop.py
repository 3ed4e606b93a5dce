"""A pipeline with one flow of each kind, and what its tables and counters must say, computed in plain Python."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any

from tests.oracle.tables import differences, read_table
from tests.spark.pipeline_project import PipelineProject

from penstock.runtime import UpdateOutcome

CODE = """
@dlt.table
def bronze():
    files = spark.readStream.format("cloudFiles").option("cloudFiles.format", "json")
    hints = "id LONG, customer STRING, amount LONG, at TIMESTAMP"
    return files.option("cloudFiles.schemaHints", hints){options}.load("in")

@dlt.table
@dlt.expect_or_drop("has a customer", "customer IS NOT NULL")
@dlt.expect_or_quarantine("costs something", "amount > 0")
def silver():
    return dlt.read_stream("bronze").drop("_rescued_data")

@dlt.table
def seen():
    return dlt.read_stream("silver").select("id", "at").withWatermark("at", "10 minutes").dropDuplicates(["id", "at"])

@dlt.table
def windows():
    rows = dlt.read_stream("silver").select("at", "amount").withWatermark("at", "10 minutes")
    counts = rows.groupBy(F.window("at", "10 minutes")).agg(F.count("*").alias("orders"), F.sum("amount").alias("sum"))
    return counts.select(F.col("window.start").alias("start"), "orders", "sum")

for name, kind in (("latest", 1), ("history", 2)):
    dlt.create_streaming_table(name)
    dlt.apply_changes(name, source="changes", keys=["customer"], sequence_by="id", stored_as_scd_type=kind)

@dlt.view
def changes():
    return dlt.read_stream("silver").select("customer", "id", "amount")

@dlt.table
def gold():
    return spark.sql("SELECT customer, count(*) AS orders, sum(amount) AS sum FROM silver GROUP BY customer")
"""
TABLES = ("bronze", "silver", "seen", "windows", "latest", "history", "gold")
FLOWS = tuple(name for name in TABLES if name != "gold")
_OPENING = datetime(2026, 1, 1, tzinfo=UTC)
_DELAY = timedelta(minutes=10)
_NO_WATERMARK = datetime(1970, 1, 1, tzinfo=UTC)

Row = dict[str, Any]


def order(random: Random, number: int, minute: int, *, notes: int = 0) -> Row:
    """Returns one order; it has so many columns of notes beside its own."""
    row = {"id": number, "customer": f"c{random.randrange(5)}", "amount": random.randrange(1, 100), "at": _at(minute)}
    return row | {f"note_{each}": f"{number}/{each}" for each in range(notes)}


def bad(random: Random, row: Row) -> Row:
    """Returns the order as it breaks one of the rules, or both."""
    return row | random.choice([{"customer": None}, {"amount": 0}, {"amount": -5}, {"customer": None, "amount": 0}])


@dataclass(slots=True)
class Model:
    """What the tables hold after runs that each took all files there were, as one batch.

    Where no row is late, it does not matter how the rows are cut into batches.
    """

    bronze: list[Row] = field(default_factory=list)
    silver: list[Row] = field(default_factory=list)
    aside: list[Row] = field(default_factory=list)
    seen: set[tuple[int, datetime]] = field(default_factory=set)
    windows: list[Row] = field(default_factory=list)
    dropped: int = 0
    late: int = 0
    repeated: int = 0
    _open: dict[datetime, list[int]] = field(default_factory=dict)
    _watermark: datetime = _NO_WATERMARK

    def run(self, rows: list[Row]) -> None:
        """Takes the rows of new files."""
        self.bronze += rows
        kept = []
        for row in rows:
            if row["amount"] <= 0:
                self.aside.append(row)
            elif row["customer"] is None:
                self.dropped += 1
            else:
                kept.append(row)
        self.silver += kept
        for row in kept:
            self._see(row)
        moments = [_moment(row) - _DELAY for row in kept]
        self._watermark = max([self._watermark, *moments])
        self._close()

    def _see(self, row: Row) -> None:
        at = _moment(row)
        if at <= self._watermark:
            self.late += 1
        elif (row["id"], at) in self.seen:
            self.repeated += 1
        else:
            self.seen.add((row["id"], at))
        start = at - timedelta(minutes=at.minute % 10)
        if start + timedelta(minutes=10) > self._watermark:
            self._open.setdefault(start, []).append(row["amount"])

    def _close(self) -> None:
        for start in [each for each in self._open if each + timedelta(minutes=10) <= self._watermark]:
            amounts = self._open.pop(start)
            self.windows.append({"start": start, "orders": len(amounts), "sum": sum(amounts)})

    def tables(self) -> dict[str, list[Row]]:
        """Returns the rows of each table."""
        columns = _columns(self.bronze)
        by_customer: dict[str, dict[int, int]] = {}
        for row in self.silver:
            by_customer.setdefault(row["customer"], {})[row["id"]] = row["amount"]
        history = [
            {"customer": name, "id": start, "amount": amounts[start], "__START_AT": start, "__END_AT": end}
            for name, amounts in by_customer.items()
            for start, end in pairwise([*sorted(amounts), None])
            if start is not None
        ]
        latest = [row for row in history if row["__END_AT"] is None]
        return {
            "bronze": _stored(self.bronze, columns),
            "silver": _stored(self.silver, columns),
            "silver__quarantine": _stored(self.aside, _columns(self.aside)),  # its columns come with its rows
            "seen": [{"id": number, "at": at} for number, at in self.seen],
            "windows": self.windows,
            "latest": [{name: row[name] for name in ("customer", "id", "amount")} for row in latest],
            "history": history,
            "gold": [_total(name, self.silver) for name in by_customer],
        }

    def differences(self, project: PipelineProject) -> list[str]:
        """Compares the tables as they are on the disk; returns the differences as lines to read."""
        found = []
        for name, expected in self.tables().items():
            path = project.path(name)
            actual = read_table(path) if path.exists() else []
            columns = expected[0] if expected else None
            found += [f"{name}: {line}" for line in differences(actual, expected, columns)]
        return found


def counters(project: PipelineProject, updates: list[UpdateOutcome]) -> dict[str, int]:
    """Returns what the accounts of some updates say; a batch that was run again counts as it did at first."""
    batches: dict[tuple[str, int | None], dict[str, Any]] = {}
    for event in (event for update in updates for event in project.events(update)):
        accounts = event.details.get("accounting")
        if accounts and accounts["evaluated"] is not None:
            name = str(event.origin.dataset_name).removeprefix("shop.")
            batches.setdefault((name, event.origin.batch_id), dict(accounts))
    wanted = {"dropped": ("silver", "dropped"), "late": ("seen", "late"), "repeated": ("seen", "deduplicated")}
    return {
        counter: sum(accounts[field] for (name, _), accounts in batches.items() if name == dataset)
        for counter, (dataset, field) in wanted.items()
    }


def _at(minute: int) -> str:
    return (_OPENING + timedelta(minutes=minute)).isoformat().replace("+00:00", "Z")


def _moment(row: Row) -> datetime:
    return datetime.fromisoformat(row["at"])


def _columns(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _stored(rows: list[Row], columns: Iterable[str]) -> list[Row]:
    return [{name: _moment(row) if name == "at" else row.get(name) for name in columns} for row in rows]


def _total(customer: str, rows: list[Row]) -> Row:
    amounts = [row["amount"] for row in rows if row["customer"] == customer]
    return {"customer": customer, "orders": len(amounts), "sum": sum(amounts)}

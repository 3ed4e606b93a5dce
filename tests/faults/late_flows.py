"""A pipeline of three flows that drop late rows, its input, and where each row must be, told without Spark.

Which rows are late depends on how the files were cut into batches. That is read from the checkpoints; which rows Spark
must have dropped is then decided row by row.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from deltalake import DeltaTable
from tests.oracle.tables import read_table, stored

from penstock.events import late_rows_of_event, read_events, verdict_of

SIDES: Final = ("orders", "payments")
FLOWS: Final = ("windows", "first_copies", "paid")
"""Windowed aggregation, deduplication, and a join of two streams: the names of their tables."""

_START: Final = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
_SPAN: Final = 600  # seconds that a file covers
_DELAY: Final = 600  # of the watermark
_WINDOW: Final = 300
_NEAR: Final = 600  # from an order to the payment that is joined with it
_LATE: Final = 0.01  # of the rows
_REPEATED: Final = 0.02  # of the rows

PIPELINE: Final = f"""
import penstock as ps
from pyspark.sql import functions as F


def arrived(files, names):
    rows = spark.readStream.schema("n LONG, id LONG, order_id LONG, at TIMESTAMP").option("pathGlobFilter", names)
    return rows.option("maxFilesPerTrigger", files).json("in").withWatermark("at", "{_DELAY} seconds")


@ps.table
def windows():
    rows = arrived(2, "*.json").groupBy(F.window("at", "{_WINDOW} seconds"))
    counted = rows.agg(F.count("*").alias("rows"), F.sum("n").alias("sum"), F.sum(F.expr("n * n")).alias("squares"))
    return counted.select("window.end", "rows", "sum", "squares")


@ps.table
def first_copies():
    return arrived(2, "*.json").dropDuplicatesWithinWatermark(["id"])


@ps.table
def paid():
    near = F.expr("o.order_id = p.order_id AND p.at BETWEEN o.at AND o.at + INTERVAL {_NEAR} SECONDS")
    pairs = arrived(1, "orders-*").alias("o").join(arrived(1, "payments-*").alias("p"), near)
    return pairs.select(F.col("o.n").alias("order_n"), F.col("p.n").alias("payment_n"))
"""


class Row(NamedTuple):
    """One line of a file; `n` is its own number, `id` that of what may be there more than once, `at` in seconds."""

    n: int
    id: int
    order_id: int
    at: int


@dataclass(frozen=True, slots=True)
class Batch:
    """What a flow's checkpoint says about a batch: the files that it read, and the watermarks in seconds.

    Rows behind `late_behind` were dropped, and what `closes` has passed was closed.
    """

    number: int
    files: tuple[str, ...]
    late_behind: float
    closes: float


class LateFlows:
    """The project in `directory`, to which pairs of files arrive one after the other."""

    def __init__(self, directory: Path, *, rows: int, pairs: int) -> None:
        self.directory = directory
        self.storage = directory / ".penstock"
        self.pairs = 0
        self._rows_of_a_file = -(-rows // (pairs * len(SIDES)))
        (directory / "in").mkdir(parents=True)
        (directory / "penstock.yml").write_text(
            "name: late\nschema: shop\nspark_conf:\n  spark.driver.memory: 1g\n  spark.sql.shuffle.partitions: 2\n"
            "  spark.sql.streaming.minBatchesToRetain: 1000\n"  # the oracle reads them all
        )
        (directory / "pipeline.py").write_text(PIPELINE)

    def arrive(self, pairs: int) -> None:
        """Lets so many more pairs of files arrive, each file whole when it gets its name and younger than the last."""
        for number in range(self.pairs, self.pairs + pairs):
            for place, side in enumerate(SIDES):
                hidden = self.directory / "in" / f".{side}"
                hidden.write_text("".join(map(_line, file_rows(side, number, self._rows_of_a_file))))
                moment = _START + 2 * number + place
                os.utime(hidden, (moment, moment))
                hidden.rename(self.directory / "in" / f"{side}-{number:04}.json")
        self.pairs += pairs

    def file(self, name: str) -> Sequence[Row]:
        """Returns the rows of a file by its name."""
        side, _, number = name.removesuffix(".json").partition("-")
        return file_rows(side, int(number), self._rows_of_a_file)

    def findings(self) -> dict[str, Any]:
        """Returns what became of the rows by flow, and what of it is wrong: under `wrong`, empty when nothing is."""
        wrong: list[str] = []
        flows: dict[str, Any] = {}
        for flow in FLOWS:
            [checkpoint] = (self.storage / "checkpoints" / "shop" / flow).glob("*/*/")
            batches = recorded_batches(checkpoint)
            read = Counter(file for batch in batches for file in batch.files)
            arrived = Counter(path.name for path in (self.directory / "in").glob("*.json"))
            wrong += _differences(f"{flow}: files that were read", read, arrived)
            fates = Fates(flow, batches, self.file)
            wrong += _differences(f"{flow}__late", self._kept(flow), fates.late)
            wrong += _differences(flow, self._written(flow), fates.written)
            wrong += self._wrong_events(flow, fates)
            flows[flow] = {"batches": len(batches), **fates.counts}
        verdicts = Counter(verdict.value for each in read_events(str(self.storage)) if (verdict := verdict_of(each)))
        if verdicts["BROKEN"]:
            wrong.append(f"accounts: {verdicts['BROKEN']} are broken")
        return {"flows": flows, "accounts": dict(verdicts), "wrong": wrong}

    def _kept(self, flow: str) -> Counter[Any]:
        """The rows of the table of late rows: by which row of which file, batch, watermark and length."""
        path = stored(self.storage, "shop", f"{flow}__late")
        rows = read_table(path) if path.exists() else []
        return Counter(
            (
                row["n"],
                row["_late_source"]["file_path"].rpartition("/")[2],
                row["_late_batch_id"],
                row["_late_event_time"].timestamp(),
                row["_late_watermark"].timestamp(),
                row["_late_seconds"],
            )
            for row in rows
        )

    def _written(self, flow: str) -> Counter[Any]:
        columns = {
            "windows": ["end", "rows", "sum", "squares"],
            "first_copies": ["id"],
            "paid": ["order_n", "payment_n"],
        }
        table = DeltaTable(str(stored(self.storage, "shop", flow))).to_pyarrow_table(columns=columns[flow])
        return Counter(zip(*(map(_plain, column.to_pylist()) for column in table.columns), strict=True))

    def _wrong_events(self, flow: str, fates: Fates) -> Iterator[str]:
        """Compares the events of late rows with the rows; a batch without any may have told so."""
        told: Counter[int] = Counter()
        for event in read_events(str(self.storage)):
            late = late_rows_of_event(event)
            if late is None or event.origin.dataset_name != f"shop.{flow}":
                continue
            if late.reason is not None or late.kept is None:
                yield f"{flow}: batch {late.batch_id}: {late.reason}"
            told[late.batch_id] += late.kept or 0
        yield from _differences(f"{flow}: events of late rows", told, Counter(row[2] for row in fates.late.elements()))


class Fates:
    """Where the rows that a flow has read must be: in its table, or in that of late rows.

    `late` and `written` are rows of these tables as `LateFlows` reads them, and how often each must be there.
    """

    def __init__(self, flow: str, batches: Sequence[Batch], rows_of: Callable[[str], Sequence[Row]]) -> None:
        self.late: Counter[Any] = Counter()
        self.read = 0
        in_time: list[tuple[str, Row]] = []
        for batch in batches:
            for file in batch.files:
                for row in rows_of(file):
                    decides = _window_end(row) if flow == "windows" else row.at
                    if decides <= batch.late_behind:
                        behind = batch.late_behind - decides
                        self.late[row.n, file, batch.number, row.at, batch.late_behind, behind] += 1
                    else:
                        in_time.append((file.partition("-")[0], row))
                    self.read += 1
        self.open = 0
        if flow == "windows":
            self.written = self._windows([row for _, row in in_time], batches[-1].closes)
        elif flow == "first_copies":
            self.written = Counter(dict.fromkeys(((row.id,) for _, row in in_time), 1))
        else:
            self.written = _pairs(in_time)
        self.in_time = len(in_time)

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of rows."""
        return {
            "rows_read": self.read,
            "rows_in_time": self.in_time,
            "rows_in_open_windows": self.open,
            "rows_late": self.late.total(),
            "rows_of_the_table": self.written.total(),
        }

    def _windows(self, rows: Sequence[Row], closes: float) -> Counter[Any]:
        count: Counter[int] = Counter()
        sums: Counter[int] = Counter()
        squares: Counter[int] = Counter()
        for row in rows:
            end = _window_end(row)
            count[end] += 1
            sums[end] += row.n
            squares[end] += row.n * row.n
        self.open = sum(rows for end, rows in count.items() if end > closes)
        return Counter((end, count[end], sums[end], squares[end]) for end in count if end <= closes)


def recorded_batches(checkpoint: Path) -> list[Batch]:
    """Returns all batches of a flow, as `offsets` and `sources` of its checkpoint tell them."""
    numbers = sorted(int(path.name) for path in (checkpoint / "offsets").iterdir() if path.name.isdecimal())
    assert numbers == list(range(len(numbers))), f"Spark has forgotten some: {numbers}"
    steps = {source.name: _steps(source) for source in (checkpoint / "sources").iterdir()}
    batches: list[Batch] = []
    before: dict[str, int] = {}
    late_behind = 0.0
    for number in numbers:
        _, metadata, *lines = (checkpoint / "offsets" / str(number)).read_text().splitlines()
        told = [line.partition(":") for line in lines]
        ends = {name: json.loads(text)["logOffset"] for name, _, text in told if text != "-"}
        files = [file for name, end in ends.items() for file, step in steps[name] if before.get(name, -1) < step <= end]
        closes = json.loads(metadata)["batchWatermarkMs"] / 1000
        batches.append(Batch(number, tuple(files), late_behind, closes))
        before, late_behind = ends, closes
    return batches


def _steps(source: Path) -> list[tuple[str, int]]:
    """The files of a source, each with the step of its log in which Spark has found it."""
    entries = {
        line for log in source.iterdir() if not log.name.startswith(".") for line in log.read_text().splitlines()[1:]
    }
    found = [json.loads(entry) for entry in entries]
    return sorted((entry["path"].rpartition("/")[2], entry["batchId"]) for entry in found)


@cache
def file_rows(side: str, number: int, count: int) -> Sequence[Row]:
    """Returns the rows of a file: most within the file's ten minutes, some far behind them, some repeated."""
    chance = Random(f"late rows/{side}/{number}")
    rows: list[Row] = []
    for place in range(count):
        n = len(SIDES) * (number * count + place) + SIDES.index(side)
        if rows and chance.random() < _REPEATED:
            earlier = rows if number == 0 or chance.random() < 0.5 else file_rows(side, number - 1, count)
            rows.append(chance.choice(earlier)._replace(n=n))
            continue
        order = number * count + place
        at = _START + number * _SPAN + place * _SPAN // count
        if side == "payments":
            at += chance.randrange(_NEAR * 5 // 4)  # some come too late to be joined
        if chance.random() < _LATE:
            at -= chance.randrange(2 * _DELAY, 20 * _DELAY)
        rows.append(Row(n, n, order, at))
    return rows


def _pairs(rows: Sequence[tuple[str, Row]]) -> Counter[Any]:
    payments: dict[int, list[Row]] = {}
    for side, row in rows:
        if side == "payments":
            payments.setdefault(row.order_id, []).append(row)
    return Counter(
        (order.n, payment.n)
        for side, order in rows
        if side == "orders"
        for payment in payments.get(order.order_id, ())
        if order.at <= payment.at <= order.at + _NEAR
    )


def _window_end(row: Row) -> int:
    return row.at - row.at % _WINDOW + _WINDOW


def _plain(value: Any) -> Any:
    return value.timestamp() if isinstance(value, datetime) else value


def _line(row: Row) -> str:
    at = datetime.fromtimestamp(row.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f'{{"n":{row.n},"id":{row.id},"order_id":{row.order_id},"at":"{at}"}}\n'


def _differences(what: str, found: Counter[Any], wanted: Counter[Any]) -> Iterator[str]:
    for title, rows in (("missing", wanted - found), ("too many", found - wanted)):
        if rows:
            yield f"{what}: {rows.total()} {title}, such as {min(rows, key=repr)}"

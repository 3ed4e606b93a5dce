"""Projects for tests of the command line: made as a user makes them, with input that has one right answer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.cli_runner import penstock
from tests.oracle import orders
from tests.oracle.orders import Expected
from tests.oracle.tables import assert_table, stored, table_version

_FIXED_TIME = 1_767_250_800.0  # the generator's opening: 2026-01-01 07:00 UTC; files are a minute apart
_SCHEMA = "shop"
TABLES = ("bronze_orders", "silver_orders", "hourly_revenue", "top_products")


@dataclass(frozen=True, slots=True)
class OrdersProject:
    """The quickstart in `directory`, with its tables under `.penstock`."""

    directory: Path

    @property
    def storage(self) -> Path:
        """Where the tables, the checkpoints and the events are."""
        return self.directory / ".penstock"

    @property
    def data(self) -> Path:
        """The folder of the arriving files."""
        return self.directory / "data" / "orders"

    @property
    def pipeline(self) -> Path:
        """The pipeline's one source file."""
        return self.directory / "transformations" / "orders.py"

    @property
    def settings(self) -> Path:
        """The pipeline file."""
        return self.directory / "penstock.yml"

    def drop_files(self, count: int, *, orders_per_file: int = 50) -> None:
        """Lets `count` more files arrive, in a known order: none late, each a minute younger than the one before."""
        before = set(self.data.glob("*.json"))
        command = [sys.executable, "generate_orders.py", "--late", "0", "--rate", "0", "--files", str(count)]
        command += ["--orders-per-file", str(orders_per_file)]
        subprocess.run(command, cwd=self.directory, check=True, capture_output=True)
        for path in sorted(set(self.data.glob("*.json")) - before):
            moment = _FIXED_TIME + 60 * int(path.stem.split("-")[1])
            os.utime(path, (moment, moment))

    def edit(self, file: Path, old: str, new: str) -> None:
        """Replaces the one place where `file` says `old`."""
        text = file.read_text()
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file.name}"
        file.write_text(text.replace(old, new))

    def add_settings(self, text: str) -> None:
        """Adds lines to the pipeline file."""
        self.settings.write_text(f"{self.settings.read_text().rstrip()}\n{text}\n")

    def table(self, name: str) -> Path:
        """Returns where a table is stored."""
        return stored(self.storage, _SCHEMA, name)

    def versions(self) -> dict[str, int]:
        """Returns the newest version of each table."""
        return {name: table_version(self.table(name)) for name in TABLES}

    def expected(self) -> Expected:
        """Returns what the tables must hold for the files that arrived so far."""
        return orders.quickstart(orders.lines_of(self.data))

    def assert_tables(self) -> Expected:
        """Fails when a table differs from what it must hold."""
        expected = self.expected()
        assert_table(self.table("bronze_orders"), expected.bronze_orders, orders.QUICKSTART_COLUMNS)
        assert_table(self.table("silver_orders"), expected.silver_orders)
        assert_table(self.table("hourly_revenue"), expected.hourly_revenue)
        assert_table(self.table("top_products"), expected.top_products)
        return expected


def orders_project(directory: Path, *, files: int = 20, orders_per_file: int = 50) -> OrdersProject:
    """Makes a quickstart project by `penstock init`, with `files` files of orders none of which is late."""
    penstock("init", directory).expect(0)
    project = OrdersProject(directory)
    shutil.rmtree(project.data)
    project.drop_files(files, orders_per_file=orders_per_file)
    project.add_settings("spark_conf:\n  spark.driver.memory: 1g\n  spark.sql.shuffle.partitions: 2")
    return project


def one_file_a_batch(project: OrdersProject) -> None:
    """Makes the run long enough to be hit in the middle: each file is a batch of its own."""
    option = '.option("cloudFiles.format", "json")'
    project.edit(project.pipeline, option, f'{option}\n        .option("cloudFiles.maxFilesPerTrigger", 1)')

"""Late rows of tables of the same schema and name in two catalogs: what comes to one never comes to the other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.oracle.tables import read_table
from tests.spark.pipeline_project import PipelineProject

from penstock.graph.companions.late_rows import late_rows_of
from penstock.graph.identifier import Identifier
from penstock.runtime.commands.late_reprocessing import reprocess_late_rows
from penstock.runtime.project.workspace import say_nothing
from penstock.runtime.storage_state.catalog import stored_table
from penstock.storage import StorageLayout

_PIPELINE = """
def arrived(folder):
    return spark.readStream.schema("id LONG, at TIMESTAMP").json(folder)

def hours(table):
    rows = ps.read_stream(table).withWatermark("at", "10 minutes")
    counts = rows.groupBy(F.window("at", "1 hour")).agg(F.sum("id").alias("ids"))
    return counts.select(F.col("window.end").alias("until"), "ids")

@ps.table(name="a.sales.arrived")
def arrived_in_a():
    return arrived("of_a")

@ps.table(name="b.sales.arrived")
def arrived_in_b():
    return arrived("of_b")

@ps.table(name="a.sales.orders")
def orders_of_a():
    return hours("a.sales.arrived")

@ps.table(name="b.sales.orders")
def orders_of_b():
    return hours("b.sales.arrived")
"""
_START = datetime(2026, 1, 1, tzinfo=UTC)


def _arrive(project: PipelineProject, file: str, first_id: int, *minutes: int) -> None:
    """Rows of one file for each table; those of `b` have ids that are a thousand more."""
    for folder, more in (("of_a", 0), ("of_b", 1000)):
        rows: list[dict[str, Any]] = [
            {"id": first_id + more + number, "at": (_START + timedelta(minutes=at)).isoformat()}
            for number, at in enumerate(minutes)
        ]
        project.arrive(file, rows, folder)


def _first_hour(project: PipelineProject, catalog: str) -> tuple[int, int]:
    """The sum of the ids of the first hour, and how many rows are late."""
    layout, table = (
        StorageLayout(project.config.storage),
        Identifier("sales", "orders", None if catalog == "a" else catalog),
    )
    place, late = stored_table(layout, table), stored_table(layout, late_rows_of(table))
    assert place is not None
    assert late is not None
    [ids] = [row["ids"] for row in read_table(place) if row["until"] == _START + timedelta(hours=1)]
    return ids, len(read_table(late))


def test_late_rows_come_into_the_windows_of_their_own_catalog(project: PipelineProject) -> None:
    project.settings["catalog"] = "a"
    project.write(_PIPELINE)
    for file, first_id, minutes in (("0", 1, (10,)), ("1", 2, (200,)), ("2", 3, (20, 30)), ("3", 5, (205,))):
        _arrive(project, file, first_id, *minutes)
        assert project.run().errors == ()
    assert (_first_hour(project, "a"), _first_hour(project, "b")) == ((1, 2), (1001, 2))

    done = reprocess_late_rows(project.config, "b.sales.orders", progress=say_nothing, spark=project.spark)
    assert (str(done.table), done.windows, done.late_rows) == ("b.sales.orders", 1, 2)
    assert (_first_hour(project, "a"), _first_hour(project, "b")) == ((1, 2), (1001 + 1003 + 1004, 0))

    done = reprocess_late_rows(project.config, "A.Sales.Orders", progress=say_nothing, spark=project.spark)
    assert (str(done.table), done.windows, done.late_rows) == ("sales.orders", 1, 2)
    assert (_first_hour(project, "a"), _first_hour(project, "b")) == ((1 + 3 + 4, 0), (1001 + 1003 + 1004, 0))

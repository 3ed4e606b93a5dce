"""kill -9 around the two commits of a batch with a quarantine: each row ends in one place, once."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.cli_runner import own_process, penstock, running
from tests.faults import dying
from tests.oracle.tables import read_table

from penstock.events import read_events

pytestmark = pytest.mark.usefixtures("one_process")

Row = dict[str, Any]
_FILES, _ROWS = 4, 30
_OLD = range(1000, 1010)

_PIPELINE = """
import dlt
from penstock.spark.writers import checking_writer

for name in ("append_to_table", "append_few", "replace_table"):
    setattr(checking_writer, name, dying(getattr(checking_writer, name)))

RULES = {"positive": "amount > 0"}


@dlt.table
@dlt.expect_or_drop("even", "id % 2 = 0")
@dlt.expect_all_or_quarantine(RULES)
def orders():
    return spark.readStream.schema("id LONG, amount LONG").option("maxFilesPerTrigger", 1).json("in")


dlt.create_streaming_table("history", expect_all_or_drop={"even": "id % 2 = 0"}, expect_all_or_quarantine=RULES)


@dlt.append_flow(target="history", once=True)
def old():
    return spark.range(1000, 1010).selectExpr("id", "id - 1005 AS amount")


@dlt.table
@dlt.expect_or_quarantine("small", "amount < 20")
def latest():
    return dlt.read("orders")
"""


def _file(number: int) -> list[Row]:
    return [{"id": n, "amount": (n * 7) % 40 - 10} for n in range(number * _ROWS, (number + 1) * _ROWS)]


def _place(row: Row) -> str:
    if row["amount"] <= 0:
        return "aside"
    return "kept" if row["id"] % 2 == 0 else "dropped"


def _assert_places(project: Path, table: str, rows: list[Row]) -> None:
    """Each row is in the table, or in its quarantine, or nowhere because a rule drops it."""
    for place, folder in (("kept", table), ("aside", f"{table}__quarantine")):
        found = sorted(row["id"] for row in read_table(project / ".penstock" / "tables" / "shop" / folder))
        assert found == [row["id"] for row in rows if _place(row) == place], folder


def _assert_counted(project: Path) -> None:
    """The numbers of each batch of `orders` are those of the file that it read."""
    last = -1
    for event in read_events(str(project / ".penstock")):
        metrics = event.details.get("flow_progress", {}).get("metrics")
        if metrics and event.origin.dataset_name == "shop.orders":
            assert event.origin.batch_id is not None
            last = max(last, event.origin.batch_id)
            places = Counter(map(_place, _file(event.origin.batch_id)))
            written, aside = metrics["num_output_rows"], metrics["quarantined_records"]
            assert metrics["num_input_rows"] == _ROWS
            assert (written, aside, metrics["dropped_records"]) == tuple(
                places[p] for p in ("kept", "aside", "dropped")
            )
    assert last == _FILES - 1


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text("name: orders\nschema: shop\n")
    (tmp_path / "pipeline.py").write_text(Path(dying.__file__).read_text() + _PIPELINE)
    (tmp_path / "in").mkdir()
    for number in range(_FILES):
        file = tmp_path / "in" / f"{number}.json"
        file.write_text("".join(json.dumps(row) + "\n" for row in _file(number)))
        os.utime(file, (1_767_250_800 + number, 1_767_250_800 + number))
    return tmp_path


def _run_again(project: Path) -> None:
    penstock("run", project).expect(0)
    orders = [row for number in range(_FILES) for row in _file(number)]
    _assert_places(project, "orders", orders)
    _assert_places(project, "history", [{"id": n, "amount": n - 1005} for n in _OLD])
    _assert_counted(project)
    kept = [row for row in orders if _place(row) == "kept"]
    tables = project / ".penstock" / "tables" / "shop"
    for folder, small in (("latest", True), ("latest__quarantine", False)):
        found = sorted(row["id"] for row in read_table(tables / folder))
        assert found == [row["id"] for row in kept if (row["amount"] < 20) is small]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "moment",
    [
        "orders__quarantine:before:2",  # between the two commits of a micro-batch
        pytest.param("orders:before:2", marks=pytest.mark.slow),
        pytest.param("orders__quarantine:after:2", marks=pytest.mark.slow),
        pytest.param("history:before:1", marks=pytest.mark.slow),  # of a once-flow, whose quarantine comes first
        pytest.param("history:after:1", marks=pytest.mark.slow),
        pytest.param("latest:before:1", marks=pytest.mark.slow),  # of a refresh, whose quarantine comes first
        pytest.param("latest:after:1", marks=pytest.mark.slow),
    ],
)
def test_python_dies_at_a_commit(project: Path, moment: str) -> None:
    killed = own_process("run", project, environ={"DIES_AT": moment})
    assert killed.exit_code == -signal.SIGKILL, killed
    _run_again(project)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("commits", [1, 2, 3])
def test_python_is_killed_in_the_middle_of_a_run(project: Path, commits: int) -> None:
    log = project / ".penstock" / "tables" / "shop" / "orders" / "_delta_log"
    with running("run", project) as command:
        # The commits of the batches come after the one that creates the table.
        command.wait_for(lambda: len(list(log.glob("*.json"))) > commits, what=f"{commits} batches")
        command.signal(signal.SIGKILL)
        assert command.wait().exit_code == -signal.SIGKILL
    _run_again(project)

"""The note in a materialized view's commit, written and read without Spark."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from penstock.events import RefreshMethod
from penstock.events.flows.refresh_costs import NOTHING_MEASURED, Attempt, RefreshCost
from penstock.plan.refresh import ABSENT
from penstock.plan.state import RefreshRecord
from penstock.runtime.storage_state.refresh_notes import last_refresh, refresh_note, versions_of

RECORD = RefreshRecord("q1", {"shop.orders": "o@4", "/warehouse/rates": ABSENT})


def _write(path: Path, note: str | None = None, rows: int = 1) -> DeltaTable:
    properties = CommitProperties(custom_metadata={"userMetadata": note}) if note is not None else None
    table = pa.table({"id": list(range(rows))})
    write_deltalake(str(path), table, mode="overwrite", commit_properties=properties)
    return DeltaTable(str(path))


def test_the_newest_refresh_is_found_behind_commits_that_keep_the_rows(tmp_path: Path) -> None:
    _write(tmp_path / "t", refresh_note(RefreshRecord("q0", {})))
    table = _write(tmp_path / "t", refresh_note(RECORD))
    assert last_refresh(table) == RECORD
    table.alter.set_table_properties({"delta.logRetentionDuration": "interval 60 days"})
    table.optimize.compact()
    assert last_refresh(DeltaTable(str(tmp_path / "t"))) == RECORD


def test_exact_versions_and_the_method_are_noted(tmp_path: Path) -> None:
    exact = RefreshRecord("q1", {"shop.orders": "o@4"}, exact=True, method="merge groups")
    assert last_refresh(_write(tmp_path / "t", refresh_note(exact))) == exact
    assert last_refresh(_write(tmp_path / "t", refresh_note(RECORD))) == RECORD
    assert not RECORD.exact, "a note of an earlier version may stand for rows that are newer than it says"


def test_a_refresh_is_measured_up_to_its_commit(tmp_path: Path) -> None:
    before = NOTHING_MEASURED.with_measure(RefreshMethod.FULL, 2.0, 100, 0)
    exact = RefreshRecord("q1", {"shop.orders": "o@4"}, exact=True, method="merge groups")
    noted = last_refresh(_write(tmp_path / "t", refresh_note(exact, RefreshCost(before, time.time() - 5, 20, 10))))
    assert noted is not None
    first, second = noted.history.measures
    assert (first, replace(noted, history=NOTHING_MEASURED)) == (before.measures[0], exact)
    assert (second.number, second.method, second.work, second.changed) == (1, RefreshMethod.MERGE_GROUPS, 20, 10)
    assert 4.9 < second.seconds < 60
    assert second.total == pytest.approx(2 + second.seconds)


@pytest.mark.parametrize(("began_ago", "work"), [(-60, 20), (5, None)], ids=["a clock set back", "nothing was read"])
def test_what_cannot_be_measured_keeps_the_history(tmp_path: Path, began_ago: float, work: int | None) -> None:
    before = NOTHING_MEASURED.with_measure(RefreshMethod.FULL, 2.0, 100, 0)
    cost = RefreshCost(before, time.time() - began_ago, work, 10)
    noted = last_refresh(_write(tmp_path / "t", refresh_note(RECORD, cost)))
    assert noted is not None
    assert noted.history == before


def test_an_attempt_before_a_full_refresh_is_noted(tmp_path: Path) -> None:
    record = RefreshRecord("d", {"orders": "1"})
    began = time.time()
    cost = RefreshCost(NOTHING_MEASURED, began, 1000, 10, attempt=Attempt(RefreshMethod.MERGE_GROUPS, 20.0, 50))
    noted = last_refresh(_write(tmp_path / "view", refresh_note(record, cost)))
    assert noted is not None
    full, tried = noted.history.measures
    assert (full.method, tried.method) == (RefreshMethod.FULL, RefreshMethod.MERGE_GROUPS)
    assert (full.seconds < 20, tried.work, tried.changed) == (True, 50, 10)
    assert tried.seconds == pytest.approx(full.seconds + 20)


def test_rows_that_something_else_wrote_are_of_unknown_origin(tmp_path: Path) -> None:
    _write(tmp_path / "t", refresh_note(RECORD))
    assert last_refresh(_write(tmp_path / "t")) is None
    _write(tmp_path / "t", refresh_note(RECORD), rows=3).delete("id = 1")
    assert last_refresh(DeltaTable(str(tmp_path / "t"))) is None
    for other in ("", "no json", "[]", '{"penstock.refresh": 1}', '{"penstock.refresh": {"definition": "q1"}}'):
        assert last_refresh(_write(tmp_path / "t", other)) is None, other


def test_a_version_is_that_of_one_table_and_one_commit(tmp_path: Path) -> None:
    path = tmp_path / "t"
    inputs = {"shop.t": str(path)}
    assert versions_of(inputs) == {"shop.t": ABSENT}
    _write(path)
    first = versions_of(inputs)
    assert versions_of(inputs) == first != {"shop.t": ABSENT}
    _write(path)
    second = versions_of(inputs)
    shutil.rmtree(path)
    _write(path)
    assert len({found["shop.t"] for found in (first, second, versions_of(inputs))}) == 3
    (path / "_delta_log" / "00000000000000000000.json").write_text("torn")
    assert versions_of(inputs) == {}, "a log that cannot be read is no version"

"""The accounts of a streaming batch, from what Spark tells of it and what the targets' logs hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from deltalake import CommitProperties, Transaction, write_deltalake

from penstock.errors import SourceLocation
from penstock.events import BatchAccounts, Verdict
from penstock.graph.elements import FormatSink, FunctionSink
from penstock.graph.identifier import Identifier
from penstock.plan.stages import RunSinkFlow, RunStreamingFlow
from penstock.runtime.flows.accounting import StreamAccounts
from penstock.runtime.flows.services import FlowQuery
from penstock.spark.expectations.observed import ObservedExpectations
from penstock.spark.plans.inspection import RowKeeping
from penstock.spark.streams.writes import DeltaWriter

T = Identifier("s", "t")
HERE = SourceLocation("p.py", 1)
_STAGE: dict[str, Any] = {
    "dataset": T,
    "explanation": "",
    "flow": None,
    "after": (),
    "generation": 0,
    "overlap": False,
    "changes": None,
}


def accounts(
    stage: RunStreamingFlow | RunSinkFlow, changed_by: str | None = None, repeated: int | None = None
) -> StreamAccounts:
    query = FlowQuery(cast("Any", None), (ObservedExpectations("counts", T, (), 0),), ())
    keeping = RowKeeping(changed_by, deduplicates=False)
    writer = DeltaWriter("", complete=False)
    return StreamAccounts(stage, query, keeping, _real_time=False, _log=None, _writer=writer, _repeated=repeated)


def into_table(path: Path, repeated: int | None = None) -> StreamAccounts:
    return accounts(RunStreamingFlow(**_STAGE, path=str(path)), repeated=repeated)


def progress(batch: int, rows: int, **told: Any) -> dict[str, Any]:
    counts = {"total": rows, "dropped": 0, "quarantined": 0}
    known = {"id": "query", "batchId": batch, "numInputRows": rows, "stateOperators": []}
    return known | {"observedMetrics": {"counts": counts}} | told


def write(table: Path, batch: int, rows: int) -> None:
    properties = CommitProperties(app_transactions=[Transaction("query", batch)])
    content = pa.table({"id": pa.array(range(rows), pa.int64())})
    write_deltalake(str(table), content, mode="append", commit_properties=properties)


def test_rows_of_tasks_that_ran_again_are_not_taken_for_missing(tmp_path: Path) -> None:
    table, lost = into_table(tmp_path), [0]
    table._executors_lost = lambda: lost[0]
    for batch, now_lost in enumerate([1, 1, 3]):
        lost[0] = now_lost
        write(tmp_path, batch, 3)
        found = table.draw_up(progress(batch, 3, numInputRows=6))
        again = batch != 1  # executors were lost during the other two
        assert (found.verdict, found.missing_in_query) == ((Verdict.BALANCED, None) if again else (Verdict.BROKEN, 3))
        assert (reasons(found)[0] is not None) == again


def reasons(found: BatchAccounts) -> tuple[str | None, str | None]:
    return found.query_unchecked, found.target_unchecked


def test_rows_that_the_commit_lacks_or_has_twice_break_the_accounts(tmp_path: Path) -> None:
    table = into_table(tmp_path)
    for batch, (counted, stored) in enumerate([(3, 3), (3, 2), (3, 6)]):
        write(tmp_path, batch, stored)
        found = table.draw_up(progress(batch, counted))
        assert found.missing_in_target == counted - stored
    assert table.draw_up(progress(3, 2)).missing_in_target == 2  # no commit at all
    assert table.draw_up(progress(4, 0)).verdict is Verdict.BALANCED
    write(tmp_path, 5, 3)
    assert table.draw_up(progress(5, 3, numInputRows=4)).missing_in_query == 1


@pytest.mark.parametrize("metrics", [{}, {"counts": {"total": 0, "dropped": 0, "quarantined": 0}}])
def test_rows_that_were_written_and_never_counted_break_the_accounts(tmp_path: Path, metrics: dict[str, Any]) -> None:
    table = into_table(tmp_path, repeated=0)
    write(tmp_path, 0, 3)
    assert table.draw_up(progress(0, 0, observedMetrics=metrics)).verdict is Verdict.NOT_CHECKABLE, "of before a crash"
    write(tmp_path, 1, 2)
    found = table.draw_up(progress(1, 0, observedMetrics=metrics))
    assert (found.verdict, found.missing_in_target) == (Verdict.BROKEN, -2)
    assert found.broken_equation == "0 rows evaluated, but 2 written: 2 too many"
    assert table.draw_up(progress(2, 0, observedMetrics={})).verdict is Verdict.NOT_CHECKABLE, "nothing was written"


def test_a_batch_that_the_table_had_before_a_crash_is_no_break(tmp_path: Path) -> None:
    write(tmp_path, 0, 3)
    found = into_table(tmp_path, repeated=0).draw_up(progress(0, 0))  # Delta's sink does not run the query again
    assert found.verdict is Verdict.NOT_CHECKABLE
    assert found.target_unchecked == "its query reported no counts: the target has had this batch before"
    again = into_table(tmp_path).draw_up(progress(0, 3))  # a writer that looks at the rows before it writes
    assert again.verdict is Verdict.BALANCED
    unknown = into_table(tmp_path, repeated=0).draw_up(progress(0, 0, observedMetrics={}))
    assert unknown.verdict is Verdict.NOT_CHECKABLE


def test_the_log_of_a_target_that_cannot_be_read_is_no_break(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.storage.delta.commits._LOOKED_BACK", 2)
    for batch in range(3):
        write(tmp_path, batch, 1)
    (tmp_path / f"_delta_log/{2:020d}.json").write_text("{")
    assert into_table(tmp_path).draw_up(progress(0, 1)).verdict is Verdict.NOT_CHECKABLE
    (tmp_path / f"_delta_log/{2:020d}.json").write_text('{"commitInfo":{"operation":"OPTIMIZE"}}')
    found = into_table(tmp_path).draw_up(progress(0, 1))
    assert found.target_unchecked == "the log of the target does not say: the newest 2 commits have no counts"


def test_only_a_query_that_keeps_each_row_is_compared_with_its_sources(tmp_path: Path) -> None:
    write(tmp_path, 0, 3)
    stage = RunStreamingFlow(**_STAGE, path=str(tmp_path))
    found = accounts(stage, "Filter").draw_up(progress(0, 3, numInputRows=10))
    assert found.verdict is Verdict.BALANCED
    assert found.query_unchecked == "the query does not keep each row: Filter"
    uncounted = into_table(tmp_path).draw_up(progress(0, 3, numInputRows=0))
    assert uncounted.query_unchecked == "Spark did not count what this query read"


def test_a_sink_is_compared_as_far_as_it_tells() -> None:
    kafka = accounts(RunSinkFlow(**_STAGE, sink=FormatSink(identifier=T, location=HERE, format="kafka")))
    assert kafka.draw_up(progress(0, 3, sink={"description": "KafkaTable", "numOutputRows": 3})).written == 3
    lost = kafka.draw_up(progress(1, 3, sink={"description": "KafkaTable", "numOutputRows": 2}))
    assert lost.missing_in_target == 1
    silent = kafka.draw_up(progress(2, 3, sink={"description": "FileSink[x]", "numOutputRows": -1}))
    assert reasons(silent) == (None, "the sink does not report how many rows it wrote")
    function = accounts(RunSinkFlow(**_STAGE, sink=FunctionSink(identifier=T, location=HERE, function=print)))
    assert None not in reasons(function.draw_up(progress(0, 2, numInputRows=4096)))  # it took two rows


def test_files_that_were_gone_do_not_matter_to_a_batch_that_the_table_has(tmp_path: Path) -> None:
    write(tmp_path, 4, 3)
    told = progress(4, 0, observedMetrics={})
    assert into_table(tmp_path, repeated=4).draw_up(told, ("file:///a",)).verdict is Verdict.NOT_CHECKABLE
    write(tmp_path, 5, 2)
    found = into_table(tmp_path, repeated=4).draw_up(progress(5, 2), ("file:///a",))
    assert (found.verdict, found.files_gone) == (Verdict.BROKEN, ("file:///a",))

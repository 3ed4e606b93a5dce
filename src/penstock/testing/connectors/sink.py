"""What every sink has to do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQueryException

from penstock.config import Trigger, TriggerKind
from penstock.errors import SourceLocation
from penstock.graph.elements import FormatSink
from penstock.graph.identifier import Identifier
from penstock.spark.sinks.formats import check_sink, connector_writer, sink_of
from penstock.spark.sinks.sink import Promise, SinkTarget
from penstock.spark.streams.writes import start_stream
from penstock.testing.crash import newest_commit
from penstock.testing.session import shared_session

_COLUMNS = "id BIGINT, text STRING"
_CRASH = "if(id = {}, raise_error('the test dies here'), id) AS id"
_UNKNOWN = "noSuchOption"


class SinkConformance:
    """Tests of a sink; a derived class says how it is declared, and which rows it has. Rows have an `id` and a `text`.

    Attributes:
        format: The format, as a pipeline names it.
        secret: The value of an option that nothing may show, if there is one.
        checks_options: Whether an option that does not exist is refused; Spark's own formats pass over it.
        columns: The expressions in SQL that make the sink's rows of `id` and `text`.
    """

    format: ClassVar[str]
    secret: ClassVar[str | None] = None
    checks_options: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...]] = ("id", "text")

    def options(self) -> Mapping[str, str]:
        """Returns the options of a sink that is empty at the beginning of a test, and finds rows by `id` if by keys."""
        raise NotImplementedError

    def stored(self) -> list[int]:
        """Returns the `id` of each row that the sink has."""
        raise NotImplementedError

    def texts(self) -> Mapping[int, str] | None:
        """Returns the `text` of each `id`, of a sink that finds rows by `id`; None of one that adds rows."""
        return None

    # ---- the tests ----

    def test_rows_get_there_in_run_after_run(self, tmp_path: Path) -> None:
        """Also when nothing has come; a row with an `id` that is there is added, or takes its place."""
        self._arrive(tmp_path, [1, 2, 3])
        self._run(tmp_path)
        self._run(tmp_path)
        self._arrive(tmp_path, [3, 4])
        self._run(tmp_path)
        found = sorted(self.stored())
        if found == [1, 2, 3, 4]:
            assert self._finds_rows_by_id, "the sink finds rows by `id`: write `texts`, for the test of what came later"
        else:
            assert found == [1, 2, 3, 3, 4]

    def test_a_batch_that_comes_again_leaves_what_came_later(self, tmp_path: Path) -> None:
        """Where rows are found by `id`, exactly once: what another flow has written since the batch stays."""
        if not self._finds_rows_by_id or self._promise is not Promise.EXACTLY_ONCE:
            return
        before, later = tmp_path / "before", tmp_path / "later"
        self._arrive(before, [1], text="before")
        self._run(before)
        self._arrive(later, [1], text="later")
        self._run(later, flow="later")
        self._forget_newest_commit(before)
        self._run(before)
        assert self.texts() == {1: "later 1"}, "the batch was written again: a ledger tells which ones were"

    def test_a_batch_that_comes_again_keeps_the_promise(self, tmp_path: Path) -> None:
        """A process dies when the rows were written and the checkpoint does not know it yet."""
        self._arrive(tmp_path, [1, 2])
        self._run(tmp_path)
        self._forget_newest_commit(tmp_path)
        self._arrive(tmp_path, [3])
        self._run(tmp_path)
        self._keeps_promise([1, 2, 3])

    def test_a_batch_that_fails_in_the_middle_keeps_the_promise(self, tmp_path: Path) -> None:
        """A process dies while it writes: of an exactly-once sink nothing of the batch can be seen, and later all."""
        self._arrive(tmp_path, range(20))
        with pytest.raises(StreamingQueryException):
            self._run(tmp_path, dies_at=17)
        if self._promise is Promise.EXACTLY_ONCE:
            assert self.stored() == []
        self._run(tmp_path)
        self._keeps_promise(range(20))

    def test_a_new_batch_after_one_that_came_again(self, tmp_path: Path) -> None:
        """What knows a batch must not take the next one for it, nor the same number of another flow."""
        self._arrive(tmp_path, [1])
        self._run(tmp_path)
        self._forget_newest_commit(tmp_path)
        self._run(tmp_path)
        self._arrive(tmp_path, [2])
        self._run(tmp_path)
        self._keeps_promise([1, 2])

    def test_a_wrong_option_is_named(self, tmp_path: Path) -> None:
        """An option that does not exist, and one that is missing, are reported by name before a flow starts."""
        sink = sink_of(self.format.casefold())
        wrong = {option.name: self._without(option.name) for option in sink.options or () if option.required}
        if self.checks_options:
            wrong[_UNKNOWN] = {**self.options(), _UNKNOWN: "1"}
        for name, given in wrong.items():
            messages = [error.message for error in check_sink(shared_session(), self._declared(given), ())]
            assert any(name.casefold() in each.casefold() for each in messages), messages
            assert self.secret is None or not any(self.secret in each for each in messages)
        assert list(check_sink(shared_session(), self._declared(self.options()), ())) == []

    # ---- how they write ----

    @property
    def _finds_rows_by_id(self) -> bool:
        return type(self).texts is not SinkConformance.texts  # called only when there are rows

    @property
    def _promise(self) -> Promise:
        promise = sink_of(self.format.casefold()).promise
        assert promise is not None, "the sink does not say what becomes of a row in a crash"
        return promise

    def _keeps_promise(self, ids: Iterable[int]) -> None:
        found, expected = sorted(self.stored()), sorted(ids)
        if self._promise is Promise.EXACTLY_ONCE:
            assert found == expected
        else:
            assert sorted(set(found)) == expected

    def _without(self, name: str) -> dict[str, str]:
        return {key: value for key, value in self.options().items() if key.casefold() != name.casefold()}

    def _declared(self, options: Mapping[str, str]) -> FormatSink:
        name = Identifier("conformance", "sink")
        return FormatSink(identifier=name, location=SourceLocation("test"), format=self.format, options=options)

    def _arrive(self, folder: Path, ids: Iterable[int], *, text: str = "text") -> None:
        arrived = folder / "arrived"
        arrived.mkdir(parents=True, exist_ok=True)
        rows = [json.dumps({"id": each, "text": f"{text} {each}"}) for each in ids]
        (arrived / f"{len(list(arrived.iterdir())):03}.json").write_text("\n".join(rows), encoding="utf-8")

    def _rows(self, folder: Path) -> DataFrame:
        reader = shared_session().readStream.schema(_COLUMNS).format("json").name("arrived")
        return reader.load(str(folder / "arrived"))

    def _forget_newest_commit(self, folder: Path) -> None:
        commits = folder / "checkpoint/commits"
        newest = newest_commit(str(folder / "checkpoint"))
        for file in (commits / f"{newest}", commits / f".{newest}.crc"):
            file.unlink(missing_ok=True)

    def _run(self, folder: Path, *, dies_at: int | None = None, flow: str = "flow") -> None:
        rows = self._rows(folder)
        if dies_at is not None:
            rows = rows.selectExpr(_CRASH.format(dies_at), "text")
        rows = rows.selectExpr(*self.columns)
        checkpoint = str(folder / "checkpoint")
        target = SinkTarget(
            declared=self._declared(self.options()),
            options=self.options(),
            rows=rows,
            mode="append",
            flow=f"conformance/sink/{flow}",
            flow_name=flow,
            checkpoint=checkpoint,
        )
        query = start_stream(
            rows,
            connector_writer(target),
            query_name="conformance",
            checkpoint=checkpoint,
            trigger=Trigger(TriggerKind.AVAILABLE_NOW),
        )
        query.awaitTermination()
        if self.secret is not None:
            assert self.secret not in json.dumps([each.json for each in query.recentProgress])

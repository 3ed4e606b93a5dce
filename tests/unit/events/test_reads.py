"""The record of reads: many writers, one chain, and the actions of the event log that seal it."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.events.test_audit import act
from tests.unit.events.test_log import open_log

from penstock.errors import StateError
from penstock.events.flows.facts import details_of
from penstock.events.log import action_chain as module
from penstock.events.log.audit import Actor, Tampering, recorded_actions
from penstock.events.log.reads import ReadAudit, newest_read, recorded_reads, sealing
from penstock.events.redaction import shown_statement
from penstock.storage import Storage

ADA = Actor("ada", "command line", None)
FIRST, SECOND = "reads/000001.jsonl", "reads/000002.jsonl"


def read(storage: Path, *tables: str, rows: int = 1) -> None:
    assert ReadAudit(str(storage), "orders").record(tables, rows, {"command": "show"}, by=ADA) is None


def tampering(storage: Path) -> list[Tampering | None]:
    return [each.tampering for each in recorded_reads(str(storage))]


def edit(storage: Path, segment: str, change: Callable[[list[str]], list[str]]) -> None:
    file = storage / segment
    file.write_text("".join(change(file.read_text().splitlines(keepends=True))))


@pytest.fixture
def three(tmp_path: Path) -> Path:
    for number in range(3):
        read(tmp_path, f"shop.t{number}", rows=number)
    return tmp_path


def test_a_read_says_who_saw_how_many_rows_of_what(three: Path) -> None:
    found = [(each.event, each.tampering) for each in recorded_reads(str(three))]
    assert [(event and event.sequence, wrong) for event, wrong in found] == [(0, None), (1, None), (2, None)]
    assert found[2][0] is not None
    details = details_of(found[2][0])
    assert (details["action"], details["user_name"], details["through"]) == ("READ", "ada", "command line")
    assert details["arguments"] == {"command": "show", "tables": ["shop.t2"], "rows": 2}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda lines: [lines[0].replace("shop.t0", "shop.t9"), *lines[1:]], [Tampering.CHANGED, None, None]),
        (lambda lines: [lines[0], lines[2]], [None, Tampering.BEFORE_IS_MISSING]),
        (lambda lines: lines[1:], [Tampering.BEGINNING_IS_MISSING, None]),
        (lambda lines: [*lines, lines[2]], [None, None, None, Tampering.BEFORE_IS_MISSING]),
        (
            lambda lines: [*lines, re.sub(r',\\"hash\\":\\"\w+\\"', "", lines[2])],
            [None, None, None, Tampering.NOT_CHAINED],
        ),
    ],
    ids=["changed", "taken out", "beginning taken out", "repeated", "not signed"],
)
def test_what_is_changed_taken_out_or_put_in_is_noticed(
    three: Path, change: Callable[[list[str]], list[str]], expected: list[Tampering | None]
) -> None:
    edit(three, FIRST, change)
    assert tampering(three) == expected


def test_the_next_action_seals_the_reads_before_it(three: Path) -> None:
    with open_log(three) as log:
        act(log)
    read(three, "shop.later")
    actions, reads = list(recorded_actions(str(three))), list(recorded_reads(str(three)))
    assert [each.tampering for each in sealing(actions, reads)] == [None]
    edit(three, FIRST, lambda lines: lines[:2])  # the newest that the action saw, and the later one
    reads = list(recorded_reads(str(three)))
    assert [each.tampering for each in reads] == [None, None]
    assert [each.tampering for each in sealing(actions, reads)] == [Tampering.READS_ARE_MISSING]


def test_readers_at_the_same_moment_make_one_chain(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: read(tmp_path, f"shop.t{number}"), range(60)))
    found = list(recorded_reads(str(tmp_path)))
    assert [each.tampering for each in found] == [None] * 60
    assert len({each.hash for each in found}) == 60


def test_a_line_torn_by_a_crash_is_no_tampering(three: Path) -> None:
    with (three / FIRST).open("a") as file:
        file.write((three / FIRST).read_text().splitlines()[0][:-9])
    read(three, "shop.next")
    assert tampering(three) == [None] * 4
    assert (three / SECOND).is_file()


def test_the_chain_goes_on_in_the_next_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SEGMENT_BYTES", 1)
    for _ in range(3):
        read(tmp_path)
    assert len(list((tmp_path / "reads").iterdir())) == 3
    assert tampering(tmp_path) == [None] * 3
    assert newest_read(Storage(str(tmp_path))) == list(recorded_reads(str(tmp_path)))[2].hash


def test_a_record_that_cannot_be_written_is_told_or_refuses_the_read(tmp_path: Path) -> None:
    (tmp_path / "reads").write_text("no folder")
    audit = ReadAudit(str(tmp_path), "orders")
    reason = audit.record(["shop.t"], 1, {})
    assert reason is not None
    assert reason.condition == "STORAGE_NOT_WRITABLE"
    with pytest.raises(StateError) as refused:
        ReadAudit(str(tmp_path), "orders", required=True).record(["shop.t"], 1, {})
    assert refused.value.condition == "READ_NOT_RECORDED"
    assert refused.value.facts["storage"] == str(tmp_path)


def test_nothing_is_recorded_where_it_is_switched_off(tmp_path: Path) -> None:
    assert ReadAudit(str(tmp_path), "orders", reads=False, required=True).record(["t"], 1, {}) is None
    assert list(tmp_path.iterdir()) == []


@given(st.lists(st.tuples(st.text(max_size=30), st.integers(0, 9)), max_size=6))
def test_any_question_is_recorded_whole(tmp_path_factory: pytest.TempPathFactory, asked: list[tuple[str, int]]) -> None:
    storage = tmp_path_factory.mktemp("reads")
    for text, rows in asked:
        ReadAudit(str(storage), "orders").record([text], rows, {"statement": text, "hash": text}, by=ADA)
    assert tampering(storage) == [None] * len(asked)


@pytest.mark.parametrize(
    ("statement", "hidden"),
    [
        ("SELECT * FROM read_files('s3a://key:geheim@bucket/x')", "geheim"),
        ("SELECT * FROM read_files('abfss://c@a/x?sig=geheim')", "geheim"),
        ("SELECT * FROM read_kafka(`kafka.sasl.jaas.config` => 'geheim')", "geheim"),
        ('SELECT * FROM f(password => "geh\'eim")', "geh'eim"),
        ("SELECT map('password', 'geheim')", "geheim"),
        ("SELECT * FROM t WHERE api_key = 'geheim' AND a = 1", "geheim"),
        ("CREATE TABLE t OPTIONS (fs.azure.account.key.x 'it''s geheim')", "geheim"),
    ],
)
def test_a_statement_is_recorded_without_secrets(statement: str, hidden: str) -> None:
    assert hidden not in shown_statement(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM shop.orders WHERE customer = 'ada@example.com' AND amount > 5",
        "SELECT 'https://example.com/a?b=c' AS address, 12:30 FROM t",
        "SELECT count(*) FROM delta.`/srv/a@b:c/t`",
    ],
)
def test_about_whom_somebody_asked_stays(statement: str) -> None:
    assert shown_statement(statement) == statement

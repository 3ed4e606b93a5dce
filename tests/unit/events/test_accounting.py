from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.events import BatchAccounts, Event, EventType, Level, Origin, Verdict, builders, verdict_of

ADDS_UP = BatchAccounts(
    7, read=20, evaluated=14, written=9, dropped=3, quarantined=2, dropped_in_views=1, late=2, deduplicated=3
)
_PARTS = ("written", "dropped", "quarantined", "dropped_in_views", "late", "deduplicated")
_ROWS = st.integers(0, 10**9)


def test_what_adds_up_is_balanced() -> None:
    assert ADDS_UP.verdict is Verdict.BALANCED
    assert (ADDS_UP.missing_in_query, ADDS_UP.missing_in_target, ADDS_UP.broken_equation) == (0, 0, "")


@given(st.fixed_dictionaries(dict.fromkeys(_PARTS, _ROWS)), st.integers(-5, 5), st.integers(-5, 5))
def test_a_difference_on_either_side_breaks_the_accounts(parts: dict[str, int], lost: int, unwritten: int) -> None:
    evaluated = parts["written"] + parts["dropped"] + parts["quarantined"] + unwritten
    read = evaluated + parts["dropped_in_views"] + parts["late"] + parts["deduplicated"] + lost
    known: dict[str, Any] = {"batch_id": 0, "read": read, "evaluated": evaluated, **parts}
    accounts = BatchAccounts(**known)
    assert (accounts.missing_in_query, accounts.missing_in_target) == (lost, unwritten)
    assert (accounts.verdict is Verdict.BROKEN) == bool(lost or unwritten)
    assert bool(accounts.broken_equation) == bool(lost or unwritten)


def test_what_cannot_be_checked_is_no_break() -> None:
    filtered = replace(ADDS_UP, read=1000, query_unchecked="a filter")
    assert filtered.verdict is Verdict.BALANCED
    function = replace(ADDS_UP, written=None, target_unchecked="a function")
    assert function.verdict is Verdict.NOT_CHECKABLE
    assert replace(function, read=21).verdict is Verdict.BROKEN
    assert replace(ADDS_UP, evaluated=None).verdict is Verdict.NOT_CHECKABLE
    assert [check["reason"] for check in function.to_json()["checks"]] == [None, "a function"]


def test_the_message_says_what_is_missing() -> None:
    lost = replace(ADDS_UP, written=8)
    assert lost.broken_equation == "14 rows evaluated, but 8 written + 3 dropped + 2 quarantined: 1 missing"
    doubled = replace(ADDS_UP, read=18)
    expected = "18 rows read, but 14 evaluated + 1 dropped in views + 2 late + 3 deduplicated: 2 too many"
    assert doubled.broken_equation == expected
    message, details = builders.accounting("orders", lost)
    assert message == f"orders: batch 7 does not add up: {lost.broken_equation}"
    assert details["accounting"]["checks"][1]["missing"] == 1
    assert builders.accounting("orders", ADDS_UP)[0] == "orders: batch 7 adds up: 14 rows evaluated, 9 written"
    unknown = replace(ADDS_UP, written=None, target_unchecked="a function")
    assert builders.accounting("orders", unknown)[0] == "orders: batch 7 cannot be checked: a function"


def test_a_file_that_was_gone_breaks_the_accounts() -> None:
    assert len(ADDS_UP.to_json()["checks"]) == 2
    lost = replace(ADDS_UP, files_gone=tuple(f"file:///in/{number}" for number in range(12)))
    assert lost.verdict is Verdict.BROKEN
    assert lost.broken_equation.startswith("12 files (file:///in/0, file:///in/1, ")
    assert "file:///in/9 and 2 more) of its source gone before the batch read them" in lost.broken_equation
    check = lost.to_json()["checks"][2]
    assert (check["verdict"], check["missing"], len(check["files"])) == ("BROKEN", 12, 10)


def test_a_verdict_is_read_back_from_its_event_only() -> None:
    def event(details: object, event_type: EventType = EventType.ACCOUNTING) -> Event:
        moment = datetime(2026, 1, 1, tzinfo=UTC)
        return Event("1", 1, moment, Origin("p", "u"), Level.METRICS, event_type, "", {"accounting": details})

    assert verdict_of(event(ADDS_UP.to_json())) is Verdict.BALANCED
    assert verdict_of(event({"verdict": "OTHER"})) is None
    assert verdict_of(event("text")) is None
    assert verdict_of(event(ADDS_UP.to_json(), EventType.FLOW_PROGRESS)) is None


def test_details_hold_each_number_and_the_verdict_of_each_identity() -> None:
    assert replace(ADDS_UP, read=21, target_unchecked="a function").to_json() == {
        "verdict": "BROKEN",
        "read": 21,
        "evaluated": 14,
        "written": 9,
        "dropped": 3,
        "quarantined": 2,
        "dropped_in_views": 1,
        "late": 2,
        "deduplicated": 3,
        "checks": [
            {
                "identity": "read = evaluated + dropped_in_views + late + deduplicated",
                "verdict": "BROKEN",
                "missing": 1,
                "reason": None,
            },
            {
                "identity": "evaluated = written + dropped + quarantined",
                "verdict": "NOT_CHECKABLE",
                "missing": None,
                "reason": "a function",
            },
        ],
    }


def test_unknown_number_is_the_reason_of_an_identity_without_another_one() -> None:
    query, target = replace(ADDS_UP, read=None).to_json()["checks"]
    assert (query["verdict"], query["reason"]) == ("NOT_CHECKABLE", "a number is not known")
    assert (target["verdict"], target["missing"], target["reason"]) == ("BALANCED", 0, None)
    query, _ = replace(ADDS_UP, query_unchecked="a filter").to_json()["checks"]
    assert query["reason"] == "a filter"


def test_numbers_that_are_zero_are_left_out_of_the_message() -> None:
    lost = BatchAccounts(7, read=20, evaluated=19, written=17)
    assert (
        lost.broken_equation
        == "20 rows read, but 19 evaluated: 1 missing; 19 rows evaluated, but 17 written: 2 missing"
    )

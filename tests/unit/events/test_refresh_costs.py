"""The model that chooses how a view is refreshed: estimates, choices, and that a wrong estimate does not last."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.events import RefreshMethod
from penstock.events.flows.refresh_costs import (
    EXPLORED,
    KEPT,
    NOTHING_MEASURED,
    Attempt,
    Candidate,
    RefreshHistory,
    decide,
    measured,
)

FULL, MERGED, KEYS = RefreshMethod.FULL, RefreshMethod.MERGE_GROUPS, RefreshMethod.RECOMPUTE_KEYS
MB = 1_000_000
Measured = tuple[RefreshMethod, float, int]
WARM: list[Measured] = [(MERGED, 1, 1)] * 3
COLD: list[Measured] = [(MERGED, 3, 1)] * 3


def _history(*refreshes: Measured) -> RefreshHistory:
    history = NOTHING_MEASURED
    for method, seconds, megabytes in refreshes:
        history = history.with_measure(method, seconds, megabytes * MB, megabytes * MB)
    return history


def _candidate(work: int, size: int = 100, share: float = 0.01, spent: float = 0.0) -> Candidate:
    return Candidate(MERGED, work * MB, size * MB, share, 0.5, "51% of what it reads has changed", spent)


@pytest.mark.parametrize(
    ("measures", "method", "work", "seconds"),
    [
        ([], FULL, 100, None),
        ([(MERGED, 1, 10)], FULL, 100, None),
        ([(FULL, 2.5, 100)], FULL, 100, 2.5),
        ([(FULL, 2.5, 100)], FULL, 200, 4.5),  # half a second does not grow with the input
        ([(FULL, 0.4, 100)], FULL, 1000, 0.4),
        ([(FULL, 9, 100), (FULL, 2.5, 100)], FULL, 100, 2.5),  # the first refresh of a process warms it up
        ([(FULL, 2.5, 100), (MERGED, 1, 10)], MERGED, 10, 1.0),
        ([(FULL, 2.5, 100), (MERGED, 1, 10)], MERGED, 60, 2.0),  # a byte costs what it costs a full refresh
        ([(MERGED, 1, 10)], MERGED, 60, 1.0),
        ([(FULL, 8.5, 100), *((MERGED, 1 + n / 10, n) for n in (1, 2, 4, 8))], MERGED, 100, 11.0),
        ([(FULL, 8.5, 100), *((MERGED, 1 + n / 10, n) for n in (1, 2, 4, 8)), (MERGED, 30, 4)], MERGED, 100, 11.0),
        ([(FULL, 2.5, 100), *((MERGED, 1.0 * n, n) for n in (1, 2, 4, 8))], MERGED, 8, 2.4),  # at most four times that
        ([(FULL, 2.5, 100), *((MERGED, 9 - n, n) for n in (1, 2, 4, 8))], MERGED, 100, 5.0),  # never a negative slope
    ],
)
def test_estimates(measures: list[Measured], method: RefreshMethod, work: int, seconds: float | None) -> None:
    estimate = _history(*measures).estimate(method, work * MB)
    assert estimate == (None if seconds is None else pytest.approx(seconds, abs=0.35))


def test_old_measures_do_not_count_beside_a_new_one() -> None:
    history = _history(*([(FULL, 8.0, 100)] * 8), *([(MERGED, 1.0, 1)] * 30), (FULL, 2.0, 100))
    assert history.estimate(FULL, 100 * MB) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("measures", "candidate", "full", "why"),
    [
        ([], _candidate(1), False, ""),
        ([], _candidate(1, share=0.51), True, "51% of what it reads has changed"),
        ([(FULL, 2, 100)], _candidate(1), False, "merge groups was measured 0 of 3 times"),
        ([(FULL, 2, 100), *[(MERGED, 2.9, 1)] * 2], _candidate(1), False, "merge groups was measured 2 of 3 times"),
        (
            [(FULL, 2, 100), (MERGED, 3.1, 1)],
            _candidate(1),
            True,
            "full is estimated to take 2.0 s, merge groups 3.1 s",
        ),
        ([(FULL, 2, 100), (MERGED, 9, 1)], _candidate(1, share=0.9), True, "full is estimated to take 2.0 s"),
        ([(FULL, 2, 100)], _candidate(60, share=0.51), True, "51% of what it reads has changed"),
        ([(FULL, 2, 100)] * 21, _candidate(60, share=0.51), False, "merge groups is measured, though 51%"),
        ([(FULL, 9, 100), *WARM], _candidate(1), False, "merge groups is estimated to take 1.0 s, full 9.0 s"),
        ([(FULL, 2, 100), *COLD], _candidate(1), True, "full is estimated to take 2.0 s, merge groups 3.0 s"),
        ([(FULL, 2, 100), *COLD], _candidate(1, spent=1.5), False, "merge groups is estimated to take 3.0 s"),
        ([*COLD, *[(FULL, 2, 100)] * 11], _candidate(1), False, "measured again: merge groups is"),
        ([(FULL, 2, 100), *[(MERGED, 1, 1)] * 21], _candidate(1), True, "it is measured again: full is estimated"),
        ([(FULL, 2, 100), (MERGED, 1, 1)], _candidate(1, share=0.9), False, "merge groups is estimated"),
    ],
)
def test_decisions(measures: list[Measured], candidate: Candidate, full: bool, why: str) -> None:
    decision = decide(_history(*measures), candidate)
    assert decision.full is full
    assert decision.why.startswith(why)
    assert bool(decision.why) is bool(why)


def test_what_came_before_a_full_refresh_counts_against_the_method_that_led_to_it() -> None:
    history = _history((FULL, 2, 100), (FULL, 2, 100)).with_attempt(Attempt(MERGED, 1.5, 10 * MB))
    assert [(each.method, each.seconds, each.total) for each in history.measures[-2:]] == [
        (FULL, 2, 4),
        (MERGED, 3.5, 5.5),
    ]
    assert history.seconds_since(FULL) == pytest.approx(1.5)
    decision = decide(history, _candidate(10))
    assert (decision.full, decision.estimated) == (True, {FULL: 2.0, MERGED: 3.5})


@given(
    true_full=st.floats(0.2, 30),
    true_merge=st.floats(0.2, 30),
    first_full=st.floats(0.2, 300),
    first_merge=st.floats(0.2, 300),
    share=st.floats(0, 1),
)
def test_a_wrong_estimate_does_not_last_and_trials_stay_cheap(
    true_full: float, true_merge: float, first_full: float, first_merge: float, share: float
) -> None:
    seconds = {FULL: true_full, MERGED: true_merge}
    history = _history((FULL, first_full, 100), (MERGED, first_merge, 1))
    chosen = []
    for _ in range(60):
        full = decide(history, _candidate(1, share=share)).full
        chosen.append(FULL if full else MERGED)
        history = history.with_measure(chosen[-1], seconds[chosen[-1]], 100 * MB if full else MB, MB)
    best = min(true_full, true_merge)
    # two measures outvote a first one that was too quick; one that was too slow lasts until a twentieth pays for it
    begin = 20 * max(first_full, first_merge) + 2 * max(true_full, true_merge)
    assert sum(seconds[each] for each in chosen) <= (1 + 2 * EXPLORED) * best * 60 + begin


@pytest.mark.parametrize("wrong", [FULL, MERGED])
def test_a_method_that_was_slow_once_is_found_again(wrong: RefreshMethod) -> None:
    """It is measured again when a twentieth of the other one's seconds pays for what it seemed to cost more."""
    other = MERGED if wrong is FULL else FULL
    history = _history(*[(wrong, 40.0, 100)] * 3, *[(other, 2.0, 100)] * 3)
    number = 0
    while decide(history, _candidate(100)).full is not (wrong is FULL):
        history, number = history.with_measure(other, 2.0, 100 * MB, MB), number + 1
    assert number <= (40 - 2) / (2 * EXPLORED) + 1
    for _ in range(3):  # the low median follows the second of them
        history = history.with_measure(wrong, 0.5, 100 * MB, MB)
    assert decide(history, _candidate(100)).full is (wrong is FULL)


def test_few_measures_are_kept_and_come_back_from_json() -> None:
    history = _history(*([(FULL, 2.0, 100)] * 3), *([(MERGED, 1.0, 1)] * 30))
    assert len(history.of(MERGED)) == KEPT
    assert len(history.of(FULL)) == 3
    assert history.seconds_since(FULL) == pytest.approx(30)
    assert history.seconds_since(KEYS) == pytest.approx(36)
    assert RefreshHistory.of_json(json.loads(json.dumps(history.to_json()))) == history
    for other in (None, 1, "x", [[1]], [[0, "another", 1.0, 1, 1, 1.0]]):
        assert RefreshHistory.of_json(other) == NOTHING_MEASURED


def test_a_plan_says_what_was_measured_and_where_the_choice_turns() -> None:
    assert not measured(NOTHING_MEASURED, [MERGED])
    history = _history((FULL, 8.5, 100), (MERGED, 1.3, 10))
    assert measured(history, [MERGED, KEYS]) == (
        "merge groups took 1.3 s (quicker up to about 100.0 MB of changes), full took 8.5 s"
    )

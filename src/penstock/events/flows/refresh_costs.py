"""What the refreshes of a view have cost, and which method is estimated to be the quickest for the next one. Pure.

The seconds of a method are a line over its work, the bytes that it reads: fixed seconds, and seconds per byte.
The line goes through the newest measures of the method by medians, so that one slow refresh moves nothing (Theil, 1950;
Sen, 1968).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import median_low
from typing import Any, Final

from penstock.events.flows.refresh import RefreshMethod

KEPT: Final = 8
"""Measures of a method that are kept."""

EXPLORED: Final = 0.05
"""The share of all refresh time that may go into measuring again what is estimated to be slower."""

_RECENT: Final = 20  # refreshes: older measures of a method do not count beside its newest
_FIXED: Final = 0.5  # seconds of one measured full refresh that do not grow with its input: planning, a job, a commit
_UNMEASURED: Final = 2.0  # what a method that is over its threshold is assumed to take, in full refreshes
_DEAREST: Final = 4.0  # what a byte can cost an incremental refresh at most, in bytes of a full one
_JUDGED: Final = 3  # measures before a method is left for a quicker one: the first ones are of a process that warms up
_SLOW: Final = 1.5  # a method that took so many full refreshes is left at once: those were of a cold process, too
_FITTED: Final = 4  # measures from which on a line is fitted, when their work differs twofold


@dataclass(frozen=True, slots=True)
class RefreshMeasure:
    """One refresh that was committed: its `number` in the history, and the `seconds` up to its commit.

    `work` are the bytes that it read (a refresh that recomputes keys: and those of their rows), `changed` the bytes of
    what had changed. `total` are the seconds of all refreshes of the history so far, it included.
    """

    number: int
    method: RefreshMethod
    seconds: float
    work: int
    changed: int
    total: float


@dataclass(frozen=True, slots=True)
class _Line:
    fixed: float
    per_byte: float

    def at(self, work: int) -> float:
        return self.fixed + self.per_byte * work


@dataclass(frozen=True, slots=True)
class RefreshHistory:
    """The newest measures of each method for one definition of a view, the oldest first."""

    measures: tuple[RefreshMeasure, ...] = ()

    def of(self, method: RefreshMethod) -> tuple[RefreshMeasure, ...]:
        """Returns the measures of a method."""
        return tuple(each for each in self.measures if each.method is method)

    def with_measure(self, method: RefreshMethod, seconds: float, work: int, changed: int) -> RefreshHistory:
        """Returns the history with one more refresh."""
        last = self.measures[-1] if self.measures else None
        number, total = (last.number + 1, last.total) if last is not None else (0, 0.0)
        return self._with(RefreshMeasure(number, method, round(seconds, 3), work, changed, round(total + seconds, 3)))

    def with_attempt(self, attempt: Attempt) -> RefreshHistory:
        """Returns the history with what came before its newest refresh, a full one: the method took both."""
        last = self.measures[-1]
        seconds, total = (round(attempt.seconds + each, 3) for each in (last.seconds, last.total))
        return self._with(replace(last, method=attempt.method, seconds=seconds, work=attempt.work, total=total))

    def _with(self, new: RefreshMeasure) -> RefreshHistory:
        same = self.of(new.method)
        dropped = same[: max(len(same) + 1 - KEPT, 0)]
        return RefreshHistory((*(each for each in self.measures if each not in dropped), new))

    def seconds_since(self, method: RefreshMethod) -> float:
        """Returns the seconds of all refreshes after the newest one by this method, of all if there is none."""
        if not self.measures:
            return 0.0
        same = self.of(method)
        return self.measures[-1].total - (same[-1].total if same else 0.0)

    def estimate(self, method: RefreshMethod, work: int) -> float | None:
        """Returns the seconds that a refresh with so much work would take; None if the method was never measured."""
        line = self._line(method)
        return None if line is None else line.at(work)

    def most_changed(self, method: RefreshMethod) -> int | None:
        """Returns up to how many changed bytes a method is quicker than a full refresh like the last one.

        None when that is not known, or does not depend on them.
        """
        full, same = self.of(RefreshMethod.FULL), self.of(method)
        line = self._line(method)
        if not full or not same or line is None or line.per_byte <= 0:
            return None
        whole = self.estimate(RefreshMethod.FULL, full[-1].work)
        assert whole is not None
        beside = same[-1].work - same[-1].changed
        return max(int((whole - line.fixed) / line.per_byte) - beside, 0)

    def to_json(self) -> list[list[Any]]:
        """Returns it as JSON has it."""
        return [
            [each.number, each.method.value, each.seconds, each.work, each.changed, each.total]
            for each in self.measures
        ]

    @staticmethod
    def of_json(noted: Any) -> RefreshHistory:
        """Returns what `to_json` has given; an empty history for anything else."""
        with suppress(TypeError, ValueError):
            return RefreshHistory(
                tuple(
                    RefreshMeasure(
                        int(number), RefreshMethod(method), float(seconds), int(work), int(changed), float(total)
                    )
                    for number, method, seconds, work, changed, total in noted
                )
            )
        return RefreshHistory()

    def _recent(self, method: RefreshMethod) -> tuple[RefreshMeasure, ...]:
        same = self.of(method)
        return tuple(each for each in same if each.number > same[-1].number - _RECENT)

    def _line(self, method: RefreshMethod) -> _Line | None:
        recent = self._recent(method)
        if not recent:
            return None
        fitted = _slope(recent)
        if method is RefreshMethod.FULL:
            slope = _slope_of_full(recent) if fitted is None else fitted
        else:
            whole = self._line(RefreshMethod.FULL)
            per_byte = 0.0 if whole is None else whole.per_byte
            slope = per_byte if fitted is None else min(fitted, _DEAREST * per_byte if whole is not None else fitted)
        return _Line(max(median_low(each.seconds - slope * each.work for each in recent), 0.0), slope)


NOTHING_MEASURED: Final = RefreshHistory()


def _slope(measures: Sequence[RefreshMeasure]) -> float | None:
    """Returns the seconds per byte; None when the measures are too few or too much alike to tell."""
    works = [each.work for each in measures]
    if len(measures) < _FITTED or max(works) < 2 * max(min(works), 1):
        return None
    pairs = combinations(measures, 2)
    slopes = [(b.seconds - a.seconds) / (b.work - a.work) for a, b in pairs if a.work != b.work]
    return max(median_low(slopes), 0.0)


def _slope_of_full(measures: Sequence[RefreshMeasure]) -> float:
    return median_low(max(each.seconds - _FIXED, 0.0) / max(each.work, 1) for each in measures)


@dataclass(frozen=True, slots=True)
class Attempt:
    """An incremental refresh with `work` that found after `seconds` that all must be computed."""

    method: RefreshMethod
    seconds: float
    work: int


@dataclass(frozen=True, slots=True)
class RefreshCost:
    """What is noted of a refresh to measure it by: the `history` before it, when it `began` in seconds since 1970.

    `work` and `changed` are those of `RefreshMeasure`; without `work` it is not measured, because nothing was read.
    `chosen` says that it is a full one because that was estimated to be quicker, `attempt` what came before it.
    """

    history: RefreshHistory
    began: float
    work: int | None
    changed: int
    chosen: bool = False
    attempt: Attempt | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """An incremental refresh that could be done: its method, its work in bytes, and the bytes that a full one reads.

    `share` is how much has changed. Up to `most` of it, the method is done until it was measured three times; more is
    taken to be dearer than a full refresh for as long as the method was never measured; `said` says so. `spent` are the
    seconds that have gone into it already.
    """

    method: RefreshMethod
    work: int
    size: int
    share: float
    most: float
    said: str
    spent: float = 0.0


@dataclass(frozen=True, slots=True)
class CostDecision:
    """Whether a refresh is `full`, why, and what the candidates are estimated to take, in seconds."""

    full: bool
    why: str
    estimated: dict[RefreshMethod, float] = field(default_factory=dict)


def decide(history: RefreshHistory, candidate: Candidate) -> CostDecision:
    """Returns which of the candidate and a full refresh is done: what is estimated to be quicker.

    What is estimated to be slower is measured again as soon as the seconds that it would take more are no more than
    `EXPLORED` of those that refreshes have taken since it was measured: a wrong estimate does not last.
    """
    whole = history.estimate(RefreshMethod.FULL, candidate.size)
    mine = history.estimate(candidate.method, candidate.work)
    known = {candidate.method: mine, RefreshMethod.FULL: whole}
    estimated = {method: round(seconds, 3) for method, seconds in known.items() if seconds is not None}
    return replace(_decided(history, candidate, whole, mine), estimated=estimated)


def _decided(history: RefreshHistory, candidate: Candidate, whole: float | None, mine: float | None) -> CostDecision:
    method = candidate.method
    measures = len(history.of(method))
    is_slow = mine is not None and whole is not None and mine > _SLOW * whole
    if candidate.share <= candidate.most and measures < _JUDGED and not is_slow:
        return CostDecision(
            False, "" if whole is None else f"{method.value} was measured {measures} of {_JUDGED} times"
        )
    if whole is None or mine is None:
        if whole is not None and _affordable(history, method, (_UNMEASURED - 1) * whole):
            return CostDecision(False, f"{method.value} is measured, though {candidate.said}")
        return CostDecision(True, candidate.said)
    ahead = max(mine - candidate.spent, 0.0)
    if ahead <= whole:
        if candidate.spent == 0 and _affordable(history, RefreshMethod.FULL, whole - ahead):
            return CostDecision(True, f"it is measured again: {_compared(RefreshMethod.FULL, whole, method, mine)}")
        return CostDecision(False, _compared(method, mine, RefreshMethod.FULL, whole))
    if _affordable(history, method, ahead - whole):
        return CostDecision(False, f"measured again: {_compared(method, mine, RefreshMethod.FULL, whole)}")
    return CostDecision(True, _compared(RefreshMethod.FULL, whole, method, mine))


def _affordable(history: RefreshHistory, method: RefreshMethod, more: float) -> bool:
    return more < EXPLORED * history.seconds_since(method)


def _compared(one: RefreshMethod, seconds: float, other: RefreshMethod, others: float) -> str:
    return f"{one.value} is estimated to take {seconds:.1f} s, {other.value} {others:.1f} s"


def measured(history: RefreshHistory, methods: Sequence[RefreshMethod]) -> str:
    """Returns what the newest refreshes by each method took, for a plan; empty when nothing was measured."""
    return ", ".join(_measured(history, methods))


def _measured(history: RefreshHistory, methods: Sequence[RefreshMethod]) -> Iterator[str]:
    for method in (*methods, RefreshMethod.FULL):
        if not (same := history.of(method)):
            continue
        most = history.most_changed(method) if method is not RefreshMethod.FULL else None
        until = "" if most is None else f" (quicker up to about {most / 1e6:,.1f} MB of changes)"
        yield f"{method.value} took {same[-1].seconds:.1f} s{until}"

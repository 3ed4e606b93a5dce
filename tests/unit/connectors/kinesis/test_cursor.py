"""A place in a shard, against answers of Kinesis that are written down."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from penstock.connectors.kinesis.client import ExpiredIterator
from penstock.connectors.kinesis.cursor import ShardCursor, Trimmed


def answer(*numbers: int, behind: int | None = 0, follows: str | None = "next") -> dict[str, Any]:
    told = {"Records": [{"SequenceNumber": str(number)} for number in numbers], "NextShardIterator": follows}
    return told if behind is None else told | {"MillisBehindLatest": behind}


class Answers:
    """A client that gives these answers and notes for which positions iterators were asked."""

    def __init__(self, *answers: dict[str, Any] | Exception) -> None:
        self.answers: Iterator[dict[str, Any] | Exception] = iter(answers)
        self.asked: list[dict[str, Any]] = []

    def iterator(self, _stream: str, _shard: str, **position: Any) -> str:
        self.asked.append(position)
        return "first"

    def records(self, _stream: str, _iterator: str) -> dict[str, Any]:
        told = next(self.answers)
        if isinstance(told, Exception):
            raise told
        return told


def cursor(*answers: dict[str, Any] | Exception, **more: Any) -> ShardCursor:
    return ShardCursor(Answers(*answers), "s", "shard", **more)  # type: ignore[arg-type]


def numbers(place: ShardCursor) -> list[str]:
    return [record["SequenceNumber"] for record in place.read()]


def test_it_goes_on_behind_a_record_that_it_finds_again() -> None:
    place = cursor(answer(behind=9), answer(5, 7), last="5")
    assert (numbers(place), place.at_tip) == ([], False)
    assert (numbers(place), place.at_tip) == (["7"], True)
    assert cursor(answer(5, 7), last="5", inclusive=True).read() != ()


def test_another_record_in_its_place_says_that_it_is_gone() -> None:
    with pytest.raises(Trimmed) as gone:
        cursor(answer(6, 7), last="5").read()
    assert gone.value.found == "6"


@pytest.mark.parametrize("told", [answer(behind=0), answer(behind=86_400_000), answer(behind=5, follows=None)])
def test_no_record_up_to_the_tip_or_the_horizon_says_so_too(told: dict[str, Any]) -> None:
    with pytest.raises(Trimmed) as gone:
        cursor(told, last="5").read()
    assert gone.value.found is None


def test_a_longer_retention_has_its_horizon_further_back() -> None:
    assert cursor(answer(behind=86_400_000), last="5", retention=timedelta(hours=48)).read() == []


def test_after_an_expired_iterator_it_is_asked_for_at_the_last_record() -> None:
    place = cursor(answer(1, 2, behind=9), ExpiredIterator(), answer(2, 3))
    assert (numbers(place), numbers(place), place.at_tip) == (["1", "2"], [], False)
    assert numbers(place) == ["3"]
    assert place.client.asked[1] == {  # type: ignore[attr-defined]
        "ShardIteratorType": "AT_SEQUENCE_NUMBER",
        "StartingSequenceNumber": "2",
    }


def test_the_end_of_a_closed_shard() -> None:
    place = cursor(answer(1, behind=5, follows=None))
    assert (numbers(place), place.ended, place.at_tip, place.read()) == (["1"], True, True, ())


def test_a_service_that_does_not_tell_how_far_behind_it_is_is_read_until_nothing_comes() -> None:
    place = cursor(answer(1, behind=None), answer(behind=None))
    assert (numbers(place), place.at_tip) == (["1"], False)
    assert (numbers(place), place.at_tip) == ([], True)

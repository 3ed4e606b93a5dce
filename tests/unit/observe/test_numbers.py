from __future__ import annotations

import pytest

from penstock.observe import numbers


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, numbers.UNKNOWN),
        (0, "0"),
        (7, "7"),
        (4.71, "4.7"),
        (410.3, "410"),
        (12_345, "12.3k"),
        (999_500, "1000k"),
        (4.56e6, "4.6M"),
    ],
)
def test_short_count(value: float | None, shown: str) -> None:
    assert numbers.short_count(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, numbers.UNKNOWN),
        (85, "85 ms"),
        (2400, "2.4 s"),
        (200_000, "3 min 20 s"),
        (120_000, "2 min"),
        (7_500_000, "2 h 5 min"),
    ],
)
def test_duration(value: float | None, shown: str) -> None:
    assert numbers.duration_ms(value) == shown


def test_percent_says_all_and_nothing_only_when_it_is_so() -> None:
    assert numbers.percent(10, 10) == "100 %"
    assert numbers.percent(0, 10) == "0 %"
    assert numbers.percent(999_999, 1_000_000) == "99.9 %"
    assert numbers.percent(1, 1_000_000) == "0.1 %"
    assert numbers.percent(0, 0) == numbers.UNKNOWN

"""Which line made which operator."""

from __future__ import annotations

from penstock.analysis.query import endless_state
from penstock.errors import SourceLocation
from penstock.spark.plans.watermarks import OperatorRetention


def _line(number: int) -> SourceLocation:
    return SourceLocation("orders.py", number)


def _found(operators: list[OperatorRetention], *calls: tuple[str, int]) -> list[tuple[str, int | None]]:
    found = endless_state(operators, [(name, _line(number)) for name, number in calls])
    return [(state.operator, None if state.location is None else state.location.line) for state in found]


def test_the_last_call_made_the_outermost_operator() -> None:
    operators = [
        OperatorRetention("aggregate", True),
        OperatorRetention("deduplicate", True),
        OperatorRetention("aggregate", False),
    ]
    assert _found(operators, ("aggregate", 3), ("deduplicate", 5), ("aggregate", 8)) == [
        ("aggregate", 8),
        ("deduplicate", 5),
    ]


def test_an_operator_of_sql_has_no_call() -> None:
    assert _found([OperatorRetention("deduplicate", True)]) == [("deduplicate", None)]
    assert (
        _found([OperatorRetention("deduplicate", True)] * 2, ("deduplicate", 3), ("aggregate", 4))
        == [("deduplicate", 3)] * 2
    )


def test_no_line_is_guessed() -> None:
    kept = [OperatorRetention("aggregate", True)] * 3
    assert _found(kept, ("aggregate", 3), ("aggregate", 4)) == [("aggregate", None)] * 3


def test_a_dataframe_that_is_used_twice_has_one_call() -> None:
    assert _found([OperatorRetention("aggregate", True)] * 2, ("aggregate", 3)) == [("aggregate", 3)] * 2

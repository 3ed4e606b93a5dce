"""The table after the fault tests: each fault once, with the last that its tests have counted."""

from __future__ import annotations

from typing import Literal

import pytest
from tests.faults.table import print_table


def _report(test: str, outcome: Literal["passed", "failed"], **counted: object) -> pytest.TestReport:
    return pytest.TestReport(test, (test, 1, "f"), {}, outcome, None, "call", user_properties=list(counted.items()))


def _lines(**stats: list[pytest.TestReport]) -> list[list[str]]:
    lines: list[str] = []
    print_table(stats, lines.append)
    return [line.split() for line in lines if line]


def test_each_fault_has_a_line_with_what_was_counted_last() -> None:
    passed = [
        _report("tests/faults/test_kill_loop.py::test_kills", "passed", kills=200),
        _report("tests/faults/test_crash_points.py::test_point[first]", "passed", equal="6 of 6"),
        _report("tests/faults/test_crash_points.py::test_point[second]", "passed", equal="12 of 12"),
        _report("tests/unit/test_kill_loop.py::test_else", "passed", kills=1),
    ]
    failed = [_report("tests/faults/test_crash_points.py::test_point[third]", "failed", equal="17 of 18")]
    assert _lines(passed=passed, failed=failed) == [
        ["fault", "tests", "failed", "found"],
        ["crash", "points", "3", "1", "17", "of", "18", "equal"],
        ["kill", "loop", "1", "0", "200", "kills"],
        ["all", "4", "1"],
    ]


def test_a_broken_fixture_is_a_failure() -> None:
    assert _lines(error=[_report("tests/faults/test_kill.py::test_it", "failed")])[-1] == ["all", "1", "1"]


def test_other_tests_get_no_table() -> None:
    assert _lines(passed=[_report("tests/unit/cli/test_run.py::test_it", "passed")]) == []

"""The small run of all benchmarks names each of them, and fails when one does not end well or leaves no result."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from benchmarks import quick, run


def test_every_benchmark_has_a_small_size() -> None:
    assert sorted(quick._SIZES) == run._NAMES


def _writes_result() -> None:
    results = Path(sys.argv[sys.argv.index("--results") + 1])
    (results / "fake-20260101T000000.json").write_text("{}")


def _finds_wrong_rows() -> int:
    _writes_result()
    return 1


def _stops_with_a_message() -> None:
    _writes_result()
    raise SystemExit("3 rows instead of 4")


def _raises() -> None:
    _writes_result()
    raise ValueError


@pytest.mark.parametrize(
    ("main", "code", "said"),
    [
        (_writes_result, 0, "all passed"),
        (_finds_wrong_rows, 1, "fake: 1"),
        (_stops_with_a_message, 1, "fake: 3 rows instead of 4"),
        (_raises, 1, "fake: an exception"),
        (lambda: 0, 1, "fake: no result was written"),
    ],
)
def test_failing_benchmark_fails_the_run(
    main: Callable[[], int | None],
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    benchmark = ModuleType("benchmarks.fake.__main__")
    monkeypatch.setattr(benchmark, "main", main, raising=False)
    monkeypatch.setitem(sys.modules, benchmark.__name__, benchmark)
    monkeypatch.setattr(quick, "_SIZES", {"fake": "--rows 1"})
    monkeypatch.setattr(quick, "_RESULTS", tmp_path)
    monkeypatch.setattr(quick, "start_them_quickly", lambda: None)
    monkeypatch.setattr(quick, "share_session", lambda: None)
    assert quick.main([]) == code
    printed = capsys.readouterr().out
    assert said in printed
    assert "processor s" in printed

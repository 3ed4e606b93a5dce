"""The input and the judge of the benchmark of expectations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.compare import render
from benchmarks.expectations.variants import VARIANTS, Variant, check_totals, write_input, write_project
from benchmarks.results import write_result

from penstock.declare import load_pipeline


def test_the_bad_rows_are_those_that_break_the_rule(tmp_path: Path) -> None:
    bad = write_input(tmp_path / "input", 1000, 3)
    rows = [json.loads(line) for file in (tmp_path / "input").iterdir() for line in file.read_text().splitlines()]
    assert (len(rows), sum(row["amount"] <= 0 for row in rows)) == (1000, bad)


@pytest.mark.parametrize(
    "variant", [each for each in VARIANTS if each.decorators is not None], ids=lambda variant: variant.what
)
def test_each_variant_is_a_pipeline(tmp_path: Path, variant: Variant) -> None:
    write_project(tmp_path / "p", variant, tmp_path)
    registry = load_pipeline([tmp_path / "p" / "pipeline.py"], root=tmp_path / "p")
    assert registry.errors == ()


def test_a_run_that_loses_rows_is_no_result() -> None:
    right = {"num_output_rows": 99, "dropped_records": 0, "quarantined_records": 1}
    check_totals("1 % quarantined", right, 100, 1)
    with pytest.raises(SystemExit):
        check_totals("1 % quarantined", right | {"quarantined_records": 0}, 100, 1)


def test_a_result_file_becomes_a_table(tmp_path: Path) -> None:
    run = {"what": "10 rules", "seconds": [1.0, 1.1], "base": "no rule", "ratio": 1.02, "goal": 1.05}
    base = {"what": "no rule", "seconds": [1.0], "base": None, "ratio": None, "goal": None}
    table = render([write_result("expectations", {}, [base, run], tmp_path)])
    assert "1.02 of no rule" in table
    assert "yes" in table

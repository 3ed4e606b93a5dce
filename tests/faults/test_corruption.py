"""Nine kinds of files, damaged in five ways: the next run ends with the right tables, or refuses and changes none.

Each kind is one or more files. A run with wrong tables, an internal error and an error without a name of its own are
all failures.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from tests.faults.damaged_storage import DAMAGES, FILES, Outcome, PreparedStorage
from tests.faults.evidence import write_evidence
from tests.faults.table import RecordProperty

KINDS = tuple(dict.fromkeys(file.kind for file in FILES))


@pytest.fixture(scope="module")
def prepared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> PreparedStorage:
    return PreparedStorage(tmp_path_factory.mktemp("corruption"), spark)


@pytest.fixture(scope="module")
def outcomes() -> Iterator[list[Outcome]]:
    """All of this session; the evidence is written when it has every case."""
    found: list[Outcome] = []
    yield found
    print("\n".join(["", *table(found)]))
    if len(found) == len(FILES) * len(DAMAGES):
        told = [
            {"kind": each.file.kind, "file": each.file.name, "damage": each.damage, "result": each.result}
            | ({"conditions": each.conditions} if each.conditions else {})
            for each in found
        ]
        write_evidence("corruption", {"right": right_cells(found), "cells": len(cells(found)), "cases": told})


def cells(outcomes: list[Outcome]) -> dict[tuple[str, str], list[Outcome]]:
    """Returns the outcomes by kind and damage."""
    found: dict[tuple[str, str], list[Outcome]] = {}
    for each in outcomes:
        found.setdefault((each.file.kind, each.damage), []).append(each)
    return found


def right_cells(outcomes: list[Outcome]) -> int:
    """Returns how many kinds and damages went right with each of their files."""
    return sum(all(each.is_right for each in cell) for cell in cells(outcomes).values())


def table(outcomes: list[Outcome]) -> list[str]:
    """Returns the lines of a table: a line for each file, a column for each damage."""
    by_file: dict[tuple[str, str], dict[str, str]] = {}
    for each in outcomes:
        by_file.setdefault((each.file.kind, each.file.name), {})[each.damage] = each.result.partition(":")[0]
    head = f"{'':<40}" + "".join(f"{damage:>22}" for damage in DAMAGES)
    return [head] + [
        f"{f'{kind}: {name}':<40}" + "".join(f"{results.get(damage, '-'):>22}" for damage in DAMAGES)
        for (kind, name), results in by_file.items()
    ]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_recovered_from_or_refused(
    prepared: PreparedStorage, outcomes: list[Outcome], kind: str, record_property: RecordProperty
) -> None:
    wrong = []
    for file in (each for each in FILES if each.kind == kind):
        for damage in DAMAGES:
            outcome = prepared.case(file, damage)
            outcomes.append(outcome)
            if not outcome.is_right:
                wrong.append(f"{file.name}, {damage}: {outcome.result} {outcome.conditions} {outcome.detail}")
    record_property("kinds x damages recovered from or refused", f"{right_cells(outcomes)} of {len(cells(outcomes))}")
    assert not wrong, "\n".join(wrong)

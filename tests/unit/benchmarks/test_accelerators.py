"""Each accelerator has a workload that shows what it is worth."""

from __future__ import annotations

from benchmarks.accelerators.__main__ import SPEEDS_UP

from penstock.spark.accelerators.accelerator import ACCELERATORS


def test_each_accelerator_can_be_measured() -> None:
    assert set(SPEEDS_UP) == set(ACCELERATORS)

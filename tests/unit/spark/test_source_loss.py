"""From which version a Delta source can go on when older commits are gone."""

from __future__ import annotations

import pytest

from penstock.spark.failures.source_loss import first_readable_version


def log(checkpoints: list[int], commits: range) -> set[str]:
    names = {f"{version:020d}.checkpoint.parquet" for version in checkpoints}
    return names | {f"{version:020d}.json" for version in commits} | {"_last_checkpoint"}


@pytest.mark.parametrize(
    ("names", "has_older_batch", "expected"),
    [
        (log([10], range(10, 13)), True, 10),
        (log([10], range(10, 13)), False, 11),
        (log([10], range(11, 13)), True, 11),
        (log([10], range(8, 13)), True, 8),
        (log([10, 20], range(20, 22)), True, 20),
        (log([10, 20], range(20, 22)), False, 21),
        (log([10], range(10, 10)), True, 11),
        (log([2], range(2, 9)), True, None),  # what is gone is something else
        (log([], range(0)), True, None),
        ({f"{10:020d}.checkpoint.0000000001.0000000002.parquet", f"{10:020d}.json"}, True, 10),
    ],
)
def test_the_first_version_that_can_be_read(names: set[str], has_older_batch: bool, expected: int | None) -> None:
    assert first_readable_version(names, after=4, has_older_batch=has_older_batch) == expected

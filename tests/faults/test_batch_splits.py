"""However the same files are cut into runs and batches, the tables are the same, and those that Python computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession
from tests.faults.evidence import write_evidence
from tests.faults.modelled_shop import CODE, Model, Row, bad, counters, order
from tests.faults.table import RecordProperty
from tests.spark.pipeline_project import PipelineProject

from penstock.spark._jvm import jvm

SEEDS = range(20)
_FILES = 12


@dataclass(frozen=True, slots=True)
class Split:
    """How many files each run finds, and how many of them a batch takes."""

    runs: tuple[int, ...]
    files_a_batch: int

    @classmethod
    def of(cls, seed: int) -> Split:
        random = Random(seed)
        cuts = sorted(random.sample(range(1, _FILES), random.randrange(4)))
        runs = tuple(end - start for start, end in zip([0, *cuts], [*cuts, _FILES], strict=True))
        return cls(runs, random.choice([1, 2, 3, 5, 1000]))


def files() -> list[list[Row]]:
    """The same files for all splits: repeated and bad rows in all of them, none later than the watermark allows."""
    random, number = Random(6), 0
    before, made = list[Row](), list[list[Row]]()
    for file in range(_FILES):
        fresh: list[Row] = []
        for _ in range(8):
            number += 1
            row = order(random, number, 7 * file + random.randrange(7), notes=1)
            fresh.append(bad(random, row) if random.random() < 0.2 else row)
        made.append(fresh + [each for each in before + fresh if random.random() < 0.2])
        before = fresh
    return made


@pytest.fixture(scope="module")
def findings(spark: SparkSession) -> Iterator[list[dict[str, object]]]:
    found: list[dict[str, object]] = []
    yield found
    if len(found) == len(SEEDS):
        write_evidence("batch-splits", {"splits": found, "equal": sum(bool(each["equal"]) for each in found)})


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_tables_do_not_depend_on_the_split(
    spark: SparkSession, tmp_path: Path, findings: list[dict[str, object]], seed: int, record_property: RecordProperty
) -> None:
    split, project, left = Split.of(seed), PipelineProject(tmp_path, spark), files()
    print(f"seed {seed}: runs of {split.runs} files, {split.files_a_batch} a batch")
    project.write(CODE.format(options=f'.option("cloudFiles.maxFilesPerTrigger", {split.files_a_batch})'))
    model, updates = Model(), []
    for count in split.runs:
        arriving, left = left[:count], left[count:]
        for number, rows in enumerate(arriving, start=_FILES - len(left) - count):
            project.arrive(f"{number:02}", rows)
        updates.append(project.run())
        assert updates[-1].errors == ()
        model.run([row for rows in arriving for row in rows])
    differences = model.differences(project)
    findings.append({"seed": seed, "runs": split.runs, "files_a_batch": split.files_a_batch, "equal": not differences})
    record_property("splits equal", f"{sum(bool(each['equal']) for each in findings)} of {len(findings)}")
    assert differences == []
    assert model.late == 0
    assert counters(project, updates) == {"dropped": model.dropped, "late": 0, "repeated": model.repeated}
    jvm(spark).org.apache.spark.sql.delta.DeltaLog.clearCache()

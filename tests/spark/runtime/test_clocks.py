"""Clocks that jump: of the machine that writes the files, and of the one that runs the pipeline."""

from __future__ import annotations

import json
import os
import re
import time

import pytest
from tests.spark.pipeline_project import PipelineProject

CODE = """
@dlt.table
def plain():
    return spark.readStream.schema("id LONG").json("in")

@dlt.table
def loaded():
    files = spark.readStream.format("cloudFiles").option("cloudFiles.format", "json").schema("id LONG").load("in")
    return files.dropDuplicates(["id"])
"""
_YEAR = 365 * 86_400


@pytest.mark.parametrize(
    "back_first",
    [
        pytest.param(False, id="a year ahead"),
        # The same jumps in the other order.
        pytest.param(True, id="a year back", marks=pytest.mark.slow),
    ],
)
def test_times_of_files_decide_nothing(project: PipelineProject, back_first: bool) -> None:
    project.write(CODE)
    jumps = (-_YEAR, _YEAR) if back_first else (_YEAR, -_YEAR)
    for number, jump in enumerate((0, jumps[0], 0, jumps[1], 0)):
        project.arrive(str(number), [{"id": number}])
        moment = time.time() + jump
        os.utime(project.directory / f"in/{number}.json", (moment, moment))
        assert project.run().errors == ()
        for table in ("plain", "loaded"):
            assert project.rows(table, "id") == list(range(number + 1)), table


def test_a_checkpoint_and_a_log_of_years_ahead_go_on(project: PipelineProject) -> None:
    """The clock was ahead during the first run, and is right again."""
    project.write(CODE)
    project.arrive("0", [{"id": 0}])
    assert project.run().errors == ()
    storage, ahead = project.directory / ".penstock", round(_YEAR * 1000)
    for plan in storage.glob("checkpoints/**/offsets/0"):
        version, metadata, *offsets = plan.read_text().split("\n")
        document = json.loads(metadata)
        document["batchTimestampMs"] += ahead
        plan.write_text("\n".join((version, json.dumps(document), *offsets)))
        (plan.parent / ".0.crc").unlink()
    for segment in storage.glob("events/*.jsonl"):
        segment.write_text(re.sub(r'"timestamp":"\d{4}', '"timestamp":"2999', segment.read_text()))
    project.arrive("1", [{"id": 0}, {"id": 1}])
    update = project.run()
    assert update.errors == ()
    assert project.rows("plain", "id") == [0, 0, 1]
    assert project.rows("loaded", "id") == [0, 1]
    assert project.events()[-1].origin.update_id == update.update_id, "the log's order is not that of its times"

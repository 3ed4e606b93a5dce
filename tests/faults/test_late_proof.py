"""A million rows, one in a hundred late, through windows, deduplication and a join: each row is in one place, once.

The run is killed with SIGKILL at random moments, `FAULT_KILLS` times (3; the evidence has 10 or more), which
`FAULT_SEED` makes the same again. `FAULT_ROWS` is the number of rows.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import pytest
from tests.cli_runner import penstock, running
from tests.faults.evidence import write_evidence
from tests.faults.killing import VICTIMS, kill, updates, wait_for_event
from tests.faults.late_flows import FLOWS, LateFlows
from tests.faults.table import RecordProperty

_KILLS = int(os.environ.get("FAULT_KILLS", "3"))
_SEED = int(os.environ.get("FAULT_SEED", SystemRandom().randrange(1 << 32)))
_ROWS = int(os.environ.get("FAULT_ROWS", "1_000_000"))
_PAIRS_A_RUN = 5  # of files, a batch each
_BATCHES = _PAIRS_A_RUN * len(FLOWS)  # that a run has to do, at least
_LONGEST = 3.0  # seconds to the kill, from the batch that was chosen
_ENOUGH_KILLS, _ENOUGH_ROWS = 10, 1_000_000  # for evidence
_PATIENCE = 1200.0
_BATCH = "input_rows_per_second"  # what the event log says of each


@pytest.mark.slow
@pytest.mark.timeout(1800 + 90 * _KILLS)
def test_each_dropped_row_is_a_late_row_once(tmp_path: Path, record_property: RecordProperty) -> None:
    print(f"\n{_KILLS} kills, FAULT_SEED={_SEED}")
    chance = Random(_SEED)
    project = LateFlows(tmp_path / "late", rows=_ROWS, pairs=_PAIRS_A_RUN * (_KILLS + 1))
    killed: Counter[str] = Counter()
    started = time.monotonic()
    for _ in range(_KILLS):
        victim, batches, moment = chance.choice(VICTIMS), chance.randrange(_BATCHES), chance.uniform(0, _LONGEST)
        earlier = updates(project.storage)
        project.arrive(_PAIRS_A_RUN)
        with running("run", project.directory, "--continuous") as command:
            wait_for_event("INITIALIZING", command, project.storage, earlier)
            wait_for_event(_BATCH, command, project.storage, earlier, times=batches)
            time.sleep(moment)
            kill(command, victim)
        killed[victim] += 1
    finished = sum(each.read_text().count(_BATCH) for each in updates(project.storage))
    project.arrive(_PAIRS_A_RUN)
    penstock("run", project.directory, timeout=_PATIENCE).expect(0)
    findings: dict[str, Any] = {
        "kills": killed.total(),
        "of": dict(killed),
        "seed": _SEED,
        "batches_of_killed_runs": finished,
        "seconds": round(time.monotonic() - started),
        **project.findings(),
    }
    print(findings)
    record_property("kills", killed.total())
    record_property("rows late", sum(flow["rows_late"] for flow in findings["flows"].values()))
    record_property("differences", len(findings["wrong"]))
    if killed.total() >= _ENOUGH_KILLS and _ROWS >= _ENOUGH_ROWS:
        write_evidence("late-rows", findings)
    assert not findings["wrong"]

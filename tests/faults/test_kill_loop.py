"""kill -9 at random moments, of the JVM or of Python, while files arrive: in the end each row is where it belongs.

`FAULT_KILLS` is the number of kills (3; the evidence has 200 or more), `FAULT_SEED` makes them the same again.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random, SystemRandom

import pytest
from tests.cli_runner import penstock, running
from tests.faults.evidence import write_evidence
from tests.faults.killing import VICTIMS, kill, updates, wait_for_event
from tests.faults.six_flows import SixFlows
from tests.faults.table import RecordProperty

_KILLS = int(os.environ.get("FAULT_KILLS", "3"))
_SEED = int(os.environ.get("FAULT_SEED", SystemRandom().randrange(1 << 32)))
_LONGEST = 8.0  # seconds to the kill, from Spark's start or from the run's first batch
_SINCE = ("INITIALIZING", "input_rows_per_second")  # what the event log says by then
_ENOUGH = 200  # kills for evidence
_FILES_A_BATCH = 4
_CATCHING_UP = 1200 + 10 * _KILLS  # seconds; what arrives while runs are killed waits


@pytest.mark.slow
@pytest.mark.timeout(3000 + 90 * _KILLS)
def test_kills_at_random_moments_lose_and_double_nothing(tmp_path: Path, record_property: RecordProperty) -> None:
    print(f"\n{_KILLS} kills, FAULT_SEED={_SEED}")
    chance = Random(_SEED)
    project = SixFlows(tmp_path / "six", files_a_batch=_FILES_A_BATCH)
    killed: Counter[str] = Counter()
    started = time.monotonic()
    for _ in range(_KILLS):
        victim, moment = chance.choice(VICTIMS), chance.uniform(0, _LONGEST)
        since = chance.choice(_SINCE)
        arrivals = sorted(chance.uniform(0, moment) for _ in range(chance.randint(1, 3)))
        earlier = updates(project.storage)
        project.arrive()
        with running("run", project.directory, "--continuous") as command:
            wait_for_event(since, command, project.storage, earlier)
            arriving = threading.Thread(target=_arrive, args=(project, arrivals))
            arriving.start()
            time.sleep(moment)
            kill(command, victim)
            arriving.join()
        killed[victim] += 1
    batches = _batches(project)
    project.take(10 * _FILES_A_BATCH)  # those that wait would take longer than the kills
    penstock("run", project.directory, timeout=_CATCHING_UP).expect(0)
    project.arrive()
    penstock("run", project.directory, timeout=_CATCHING_UP).expect(0)
    differing = project.differing()
    findings = {
        "kills": killed.total(),
        "of": dict(killed),
        "seed": _SEED,
        "batches_of_killed_runs": batches,
        "seconds": round(time.monotonic() - started),
        "files": project.files,
        "rows": len(project.tables()["orders"]),
        "differing": differing,
    }
    print(findings)
    record_property("kills", killed.total())
    record_property("tables differing", len(differing))
    if killed.total() >= _ENOUGH:
        write_evidence("kill-loop", findings)
    assert not differing


def _batches(project: SixFlows) -> int:
    """How many batches the killed runs have finished: that they were killed at work."""
    return sum(each.read_text().count("input_rows_per_second") for each in updates(project.storage))


def _arrive(project: SixFlows, moments: list[float]) -> None:
    started = time.monotonic()
    for moment in moments:
        time.sleep(max(0.0, started + moment - time.monotonic()))
        project.arrive()

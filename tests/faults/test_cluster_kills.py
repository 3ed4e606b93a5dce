"""kill -9 of executors, workers, masters and the driver of a run on a cluster, while files arrive for nine flows.

`FAULT_KILLS` is the number of kills (7: each victim once; the evidence has 100 or more), `FAULT_SEED` makes their
order the same again. The record is kept after each comparison; the next call with the same code adds to it.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from random import Random, SystemRandom

import pytest
from deltalake.exceptions import TableNotFoundError
from psycopg.errors import UndefinedTable
from tests.faults.dying_cluster import DyingCluster, settings_for
from tests.faults.kill_record import KillRecord
from tests.faults.nine_flows import NineFlows
from tests.faults.table import RecordProperty
from tests.integration.spark_standalone import SparkStandalone
from tests.postgres_server import PostgresServer

_KILLS = int(os.environ.get("FAULT_KILLS", "7"))
_SEED = int(os.environ.get("FAULT_SEED", SystemRandom().randrange(1 << 32)))
_ENOUGH = 100  # kills for evidence
_LONGEST = 6.0  # seconds from an arrival to the kill: about a round of all flows
_FILES_A_BATCH = 40


@pytest.mark.slow  # an executor and a master: tests/integration/test_cluster_losses.py
@pytest.mark.timeout(900 + 90 * _KILLS)
def test_whatever_part_of_a_cluster_dies_the_tables_are_right(tmp_path: Path, record_property: RecordProperty) -> None:
    record = KillRecord("cluster-kills", wanted=_KILLS, enough=_ENOUGH)
    print(f"\n{_KILLS} kills, {record.total} of them done, FAULT_SEED={_SEED}")
    chance = Random(_SEED)
    with (
        PostgresServer() as postgres,
        SparkStandalone(tmp_path / "cluster", decommission=True, recovery=True) as spark,
    ):
        project = NineFlows(tmp_path / "nine", postgres, settings_for(spark), files_a_batch=_FILES_A_BATCH)
        project.arrive()
        with DyingCluster(spark, project, chance) as cluster:
            cluster.wait_for(lambda: _equal(project), "the tables of the first file", interval=2)
            while record.total < _KILLS:
                victims = chance.sample(sorted(cluster.victims), len(cluster.victims))
                for victim in victims[: _KILLS - record.total]:
                    project.arrive(chance.randint(1, 2))
                    time.sleep(chance.uniform(0, _LONGEST))
                    in_flight = cluster.in_flight()
                    seconds = cluster.kill(victim)
                    record.killed(victim, seconds, in_flight)
                    print(f"{record.total:4} {victim:<22}{seconds:6.1f} s, at work: {' '.join(in_flight)}", flush=True)
                project.arrive()
                began = time.monotonic()
                with suppress(TimeoutError):
                    cluster.wait_for(lambda: _equal(project), "equal tables", interval=2)
                differing, took = project.differing(), time.monotonic() - began
                record.compared(differing, seed=_SEED, files=project.files, seconds=took, ended=cluster.take_ended())
                print(f"     {project.files} files, equal after {took:.0f} s but for {differing}", flush=True)
                assert not differing
    record_property("kills", record.total)


def _equal(project: NineFlows) -> bool:
    with suppress(TableNotFoundError, UndefinedTable):  # the first run has yet to make it
        return not project.differing()
    return False

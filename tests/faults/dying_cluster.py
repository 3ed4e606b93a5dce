"""A continuous run on a cluster whose parts are killed; a supervisor starts the run again when it has ended."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Final

import psutil
from tests.cli_runner import Running, running
from tests.faults.nine_flows import NineFlows
from tests.integration.spark_standalone import SparkStandalone
from tests.processes import family, wait_until

from penstock.spark.session.setup.cache import cache_directory

WORKERS: Final = (1, 2)
_HANG_SECONDS: Final = 600.0  # machines that do more than this are slow
_NOTICE_SECONDS: Final = 3.0


class DyingCluster:
    """Kills one part at a time, and says how long the flows took to go on; a context manager."""

    def __init__(self, cluster: SparkStandalone, project: NineFlows, chance: Random) -> None:
        self._ended: Counter[str] = Counter()
        self._cluster = cluster
        self._project = project
        self._chance = chance
        self._machines = 0
        self._folder, self._home = Path(), Path()
        self._runs = ExitStack()
        self._run: Running | None = None
        self.victims: Mapping[str, Callable[[], None]] = {
            "executor": self._executor,
            "worker": self._worker,
            "all workers": self._all_workers,
            "master": self._master,
            "master that forgets": self._forgetful_master,
            "driver": self._driver,
            "decommissioned worker": self._decommissioned,
        }

    def __enter__(self) -> DyingCluster:
        self._move()
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runs.close()

    def kill(self, victim: str) -> float:
        """Kills, lets a file arrive, and returns the seconds until a batch is committed that was planned after that."""
        killed = time.time()
        self.victims[victim]()
        self._project.arrive()
        moments: list[float] = []

        def look() -> bool:
            moments[:] = [found for each in self._streams() if (found := _first_commit(each, killed)) is not None]
            return bool(moments)

        self.wait_for(look, f"a batch after: {victim}")
        return min(moments) - killed

    def in_flight(self) -> list[str]:
        """Returns the datasets whose flow has planned a batch and not committed it."""
        return [each.parents[1].name for each in self._streams() if _newest(each, "offsets") > _newest(each, "commits")]

    def take_ended(self) -> dict[str, int]:
        """Returns the conditions with which runs have ended by themselves since the last call, and how often."""
        taken, self._ended = dict(self._ended), Counter()
        return taken

    def wait_for(self, ready: Callable[[], bool], what: str, *, interval: float = 0.2) -> None:
        """Waits, and starts the run again whenever it has ended with a condition of its own."""

        def look() -> bool:
            self._supervise()
            return ready()

        wait_until(look, timeout=_HANG_SECONDS, what=what, interval=interval)

    def _streams(self) -> list[Path]:
        return sorted(self._project.storage.glob("checkpoints/shop/*/*/0"))

    def _move(self) -> None:
        """The next run is on another machine: it has nothing of this one but the storage and the pipeline's files."""
        self._machines += 1
        machine = self._project.directory / f"machine-{self._machines}"
        self._folder, self._home = self._project.copy_to(machine / "project"), machine / "home"
        self._home.mkdir()

    def _start(self) -> None:
        environ = {"HOME": str(self._home), "XDG_CACHE_HOME": str(self._home / ".cache")}
        environ |= {"PENSTOCK_CACHE": str(cache_directory())}  # jars are installed there, as Penstock is
        command = running("run", self._folder, "--continuous", "--json", cwd=self._folder, environ=environ)
        self._run = self._runs.enter_context(command)

    def _supervise(self) -> None:
        assert self._run is not None
        if self._run.process.poll() is None:
            return
        outcome = self._run.wait(10).expect(1)
        assert "Traceback" not in outcome.stderr, outcome
        assert outcome.conditions, outcome
        self._ended.update(set(outcome.conditions))
        self._runs.close()
        self._start()

    def _executor(self) -> None:
        executors = self._cluster.executors()
        if executors:
            with suppress(psutil.NoSuchProcess):
                self._chance.choice(executors).kill()

    def _worker(self) -> None:
        number = self._chance.choice(WORKERS)
        self._cluster.kill_worker(number)
        self._cluster.restart_worker(number)

    def _all_workers(self) -> None:
        for number in WORKERS:
            self._cluster.kill_worker(number)
        time.sleep(self._chance.uniform(3, 12))
        for number in WORKERS:
            self._cluster.restart_worker(number)

    def _decommissioned(self) -> None:
        number = self._chance.choice(WORKERS)
        self._cluster.interrupt_worker(number, notice=_NOTICE_SECONDS)
        self._cluster.restart_worker(number)

    def _master(self) -> None:
        self._cluster.kill_master()
        time.sleep(self._chance.uniform(0, 5))
        self._cluster.start_master()

    def _forgetful_master(self) -> None:
        self._cluster.kill_master()
        self._cluster.forget_applications()
        self._cluster.start_master()  # it has the workers end the executors, of which it does not know
        run = self._run
        assert run is not None
        wait_until(lambda: run.process.poll() is not None, timeout=_HANG_SECONDS, what="the end of the run")

    def _driver(self) -> None:
        assert self._run is not None
        for each in family(self._run.pid):
            with suppress(psutil.NoSuchProcess):  # a part of the run may end with another that was killed
                each.kill()
        assert self._run.wait(30).exit_code == -signal.SIGKILL
        self._runs.close()
        self._move()
        self._start()


def _newest(checkpoint: Path, log: str) -> int:
    folder = checkpoint / log
    return max((int(name) for name in os.listdir(folder) if name.isdigit()), default=-1) if folder.is_dir() else -1


def _first_commit(checkpoint: Path, since: float) -> float | None:
    """Returns when the first batch was committed that was planned after `since`.

    A start writes the plan of the last batch anew, also when that is committed.
    """
    moments = []
    for batch in range(_newest(checkpoint, "commits"), -1, -1):
        planned, committed = ((checkpoint / log / str(batch)).stat().st_mtime for log in ("offsets", "commits"))
        if committed < since:
            break
        if planned > since:
            moments.append(committed)
    return min(moments, default=None)


def settings_for(cluster: SparkStandalone) -> dict[str, object]:
    """Returns the pipeline's settings on the cluster."""
    conf = {
        "spark.executor.memory": "512m",
        "spark.executor.cores": 1,
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": 2,
        "spark.decommission.enabled": True,
        "spark.storage.decommission.enabled": True,
        "spark.storage.decommission.shuffleBlocks.enabled": True,
    }
    return {"master": cluster.url, "cluster_timeout": "15 seconds", "spark_conf": conf}

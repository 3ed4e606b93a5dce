"""A Spark standalone cluster on loopback: one master, two workers, each a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
import urllib.parse
import urllib.request
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import psutil
from tests.integration.java import java_executable, java_home, spark_home
from tests.processes import Server, accepts_connections, family, free_ports


def _is_executor(process: psutil.Process) -> bool:
    with suppress(psutil.Error):  # it has just ended
        return "CoarseGrainedExecutorBackend" in " ".join(process.cmdline())
    return False


def _kill(processes: set[psutil.Process]) -> None:
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            each.kill()


# What spark-class adds: Spark reaches into the JDK, which modules forbid unless told otherwise.
_OPENED = ("java.lang", "java.lang.invoke", "java.net", "java.nio", "java.util", "java.util.concurrent")


class SparkStandalone:
    """A master and `workers` workers; a context manager.

    Every worker offers one core and `memory`; executors of an application get no more than that. A driver reaches
    the cluster with `spark.master` set to `url`; it must ask for at most `memory` per executor. With `decommission`
    a worker that gets SIGPWR, as before a spot machine goes, decommissions its executors. With a `secret` nobody
    without it is heard, and all that is sent is encrypted. With `recovery` a master that starts again knows the
    applications and workers of the one before.
    """

    def __init__(
        self,
        folder: Path,
        *,
        workers: int = 2,
        memory: str = "1g",
        decommission: bool = False,
        secret: str | None = None,
        recovery: bool = False,
    ) -> None:
        self._folder = folder
        self._known_applications = folder / "recovery"
        self._workers = workers
        self._memory = memory
        settings = {"spark.decommission.enabled": str(decommission).lower()}
        if secret is not None:
            settings |= {"spark.authenticate": "true", "spark.authenticate.secret": secret}
            settings |= {"spark.network.crypto.enabled": "true", "spark.network.crypto.cipher": "AES/GCM/NoPadding"}
        if recovery:
            settings |= {"spark.deploy.recoveryMode": "FILESYSTEM"}
            settings |= {"spark.deploy.recoveryDirectory": str(self._known_applications)}
            settings |= {"spark.deploy.recoveryTimeout": "10s"}  # else it waits a minute for workers that are gone
        self._options = [f"-D{key}={value}" for key, value in settings.items()]
        self._port, self._master_ui = free_ports(2)
        self._servers: list[Server] = []

    def __enter__(self) -> SparkStandalone:
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            self._start_master()
            for number in range(1, self._workers + 1):
                self._start_worker(number)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    @property
    def url(self) -> str:
        """The cluster's address, as for `spark.master`."""
        return f"spark://127.0.0.1:{self._port}"

    @property
    def pids(self) -> list[int]:
        """The process ids: the master's, then the workers'."""
        return [server.pid for server in self._servers]

    def executors_started(self) -> int:
        """How many executors the workers have been asked to start since they run."""
        return sum(len(list(work.glob("app-*/*"))) for work in self._folder.glob("work-*"))

    def executors(self) -> list[psutil.Process]:
        """Returns the executors that run."""
        below = [each for pid in self.pids[1:] for each in family(pid) if each.pid != pid]
        return [each for each in below if _is_executor(each)]

    def processes_of(self, number: int) -> set[int]:
        """Returns the process ids of a worker and its executors."""
        return {each.pid for each in family(self.pids[number])}

    def kill_executors(self) -> int:
        """Kills the executors that run, and returns how many; the workers start others."""
        executors = self.executors()
        for each in executors:
            each.kill()
        return len(executors)

    def interrupt_worker(self, number: int, *, notice: float) -> None:
        """Takes a worker's machine away: SIGPWR, and `notice` seconds later SIGKILL for it and its executors."""
        machine = family(self.pids[number])
        os.kill(self.pids[number], signal.SIGPWR)
        time.sleep(notice)
        _kill({*machine, *family(self.pids[number])})

    def kill_worker(self, number: int) -> None:
        """Kills a worker and its executors at once, as a machine that loses its power would."""
        _kill(set(family(self.pids[number])))

    def restart_worker(self, number: int) -> None:
        """Starts a worker that was killed once more; does not wait until the master knows it."""
        server = self._servers[number]
        server.stop(grace=1)
        server.start(lambda: True)

    def kill_applications(self) -> None:
        """Ends all applications, as a person does on the master's page."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._master_ui}/json", timeout=5) as page:
            running = [each["id"] for each in json.load(page)["activeapps"]]
        for name in running:
            form = urllib.parse.urlencode({"id": name, "terminate": "true"}).encode()
            urllib.request.urlopen(f"http://127.0.0.1:{self._master_ui}/app/kill/", form, timeout=5).close()

    def kill_master(self) -> None:
        """Kills the master, as a machine that loses its power would."""
        _kill(set(family(self.pids[0])))
        self._servers[0].stop(grace=1)

    def forget_applications(self) -> None:
        """Removes what the next master would know of the applications; the master must not be running."""
        shutil.rmtree(self._known_applications)

    def start_master(self) -> None:
        """Starts a master at the same address, which knows of no application but by `recovery`."""
        self._servers[0].start(lambda: accepts_connections(self._port))

    def add_worker(self) -> None:
        """Starts one worker more."""
        self._start_worker(len(self._servers))

    def _start_master(self) -> None:
        command = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(self._port)]
        self._start("master", [*command, "--webui-port", str(self._master_ui)])

    def _start_worker(self, number: int) -> None:
        port, page = free_ports(2)
        command = ["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--port", str(port)]
        command += ["--webui-port", str(page), "--cores", "1", "--memory", self._memory]
        command += ["--work-dir", str(self._folder / f"work-{number}"), self.url]
        self._start(f"worker-{number}", command)

    def _start(self, name: str, command: list[str]) -> None:
        java = [java_executable(), "-Xmx256m", "-XX:+UseSerialGC", "-cp", f"{spark_home()}/jars/*"]
        java += self._options
        java += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
        environ = {
            "SPARK_HOME": str(spark_home()),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_SCALA_VERSION": "2.13",
            "JAVA_HOME": java_home(),
        }
        server = Server(f"Spark {name}", [*java, *command], self._folder / f"{name}.log", environ)
        self._servers.append(server)
        known = len(self._servers) - 1
        server.start(lambda: accepts_connections(self._port) if known == 0 else self._alive_workers() >= known)

    def _alive_workers(self) -> int:
        # A master that still starts answers with a page instead of JSON.
        with (
            suppress(OSError, ValueError),
            urllib.request.urlopen(f"http://127.0.0.1:{self._master_ui}/json", timeout=5) as page,
        ):
            return int(json.load(page)["aliveworkers"])
        return 0

    def _stop(self) -> None:
        for server in reversed(self._servers):
            server.stop()

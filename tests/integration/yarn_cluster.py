"""A YARN cluster on loopback: Hadoop's own resource manager and at most one node, each a process of its own."""

from __future__ import annotations

import json
import urllib.request
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any
from xml.sax.saxutils import escape

from tests.integration.java import hadoop_class_path, java_executable, java_home, spark_home
from tests.processes import Server, free_ports

_SERVERS = "org.apache.hadoop.yarn.server"
_LOG = """\
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c{1} %m%n
"""


class YarnCluster:
    """A resource manager with the queue `default`, and with `nodes` = 1 a node; a context manager.

    A driver finds the cluster with `environ`. Its files are in `folder`, those of the executors included.
    """

    def __init__(self, folder: Path, *, nodes: int) -> None:
        self._folder = folder
        self._nodes = nodes
        self._client, self._page, *self._ports = free_ports(8)
        self._servers: list[Server] = []

    def __enter__(self) -> YarnCluster:
        self._write_configuration()
        try:
            self._start(f"{_SERVERS}.resourcemanager.ResourceManager", nodes=0)
            if self._nodes:
                self._start(f"{_SERVERS}.nodemanager.NodeManager", nodes=1)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def environ(self) -> dict[str, str]:
        """What a driver's environment must have."""
        return {"HADOOP_CONF_DIR": str(self._folder)}

    def applications(self) -> list[dict[str, Any]]:
        """Returns the applications that the resource manager knows, oldest first."""
        known = (self._ask("apps")["apps"] or {}).get("app", [])
        return sorted(known, key=lambda application: int(application["startedTime"]))

    def stop(self) -> None:
        """Ends the cluster; clients see refused connections from now on."""
        while self._servers:
            self._servers.pop().stop(grace=1)  # a node would wait for containers that are gone

    def _write_configuration(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        scheduler, tracker, admin, node, localizer, node_page = (f"127.0.0.1:{port}" for port in self._ports)
        manager, capacity = "yarn.resourcemanager", "yarn.scheduler.capacity"
        settings = {
            f"{manager}.hostname": "127.0.0.1",
            f"{manager}.address": f"127.0.0.1:{self._client}",
            f"{manager}.webapp.address": f"127.0.0.1:{self._page}",
            f"{manager}.scheduler.address": scheduler,
            f"{manager}.resource-tracker.address": tracker,
            f"{manager}.admin.address": admin,
            f"{manager}.nodemanagers.heartbeat-interval-ms": "200",  # containers are given with heartbeats
            f"{manager}.scheduler.class": f"{_SERVERS}.resourcemanager.scheduler.capacity.CapacityScheduler",
            f"{capacity}.root.queues": "default",
            f"{capacity}.root.default.capacity": "100",
            f"{capacity}.maximum-am-resource-percent": "1.0",
            "yarn.scheduler.minimum-allocation-mb": "256",
            "yarn.nodemanager.hostname": "127.0.0.1",
            "yarn.nodemanager.address": node,
            "yarn.nodemanager.localizer.address": localizer,
            "yarn.nodemanager.webapp.address": node_page,
            "yarn.nodemanager.resource.memory-mb": "3072",
            "yarn.nodemanager.vmem-check-enabled": "false",
            "yarn.nodemanager.disk-health-checker.enable": "false",  # a full disk of the machine is not its concern
            "yarn.nodemanager.local-dirs": str(self._folder / "local"),
            "yarn.nodemanager.log-dirs": str(self._folder / "containers"),
            "hadoop.tmp.dir": str(self._folder / "tmp"),
        }
        for name in ("core-site.xml", "yarn-site.xml", "capacity-scheduler.xml"):
            lines = (
                f"<property><name>{key}</name><value>{escape(text)}</value></property>"
                for key, text in settings.items()
            )
            (self._folder / name).write_text("<configuration>\n" + "\n".join(lines) + "\n</configuration>\n")
        (self._folder / "log4j2.properties").write_text(_LOG)

    def _start(self, main_class: str, *, nodes: int) -> None:
        class_path = f"{self._folder}:{hadoop_class_path()}:{spark_home()}/jars/*"
        command = [java_executable(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", class_path]
        name = main_class.rpartition(".")[2]
        server = Server(name, [*command, main_class], self._folder / f"{name}.log", {"JAVA_HOME": java_home()})
        self._servers.append(server)
        server.start(lambda: self._active_nodes() == nodes, timeout=120)

    def _active_nodes(self) -> int | None:
        with suppress(OSError, ValueError):
            return int(self._ask("metrics")["clusterMetrics"]["activeNodes"])
        return None

    def _ask(self, what: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._page}/ws/v1/cluster/{what}", timeout=5) as answer:
            return json.load(answer)

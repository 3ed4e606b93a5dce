"""HDFS on loopback: Hadoop's own name node and one data node, each a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any
from xml.sax.saxutils import escape

from hdfs_native import Client, WriteOptions
from tests.integration.java import hadoop_class_path, java_executable, spark_home
from tests.processes import Server, accepts_connections, free_ports

_SERVERS = "org.apache.hadoop.hdfs.server"


class HdfsServer:
    """A file system with nothing in it; see `StoreServer`. A bucket is a folder below its root."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port, self._data, *pages = free_ports(5)
        settings = {
            "fs.defaultFS": self.uri,
            "hadoop.tmp.dir": str(folder / "tmp"),
            "dfs.namenode.http-address": f"127.0.0.1:{pages[0]}",
            "dfs.datanode.address": f"127.0.0.1:{self._data}",
            "dfs.datanode.http.address": f"127.0.0.1:{pages[1]}",
            "dfs.datanode.ipc.address": f"127.0.0.1:{pages[2]}",
            "dfs.datanode.hostname": "127.0.0.1",
            "dfs.replication": "1",
        }
        lines = [
            f"<property><name>{key}</name><value>{escape(text)}</value></property>" for key, text in settings.items()
        ]
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("core-site.xml", "hdfs-site.xml"):
            (folder / name).write_text("<configuration>\n" + "\n".join(lines) + "\n</configuration>\n")
        class_path = f"{folder}:{hadoop_class_path()}:{spark_home()}/jars/*"
        self._java = [java_executable(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", class_path]
        self._servers = [
            Server(name, [*self._java, f"{_SERVERS}.{name}"], folder / f"{name}.log", {})
            for name in ("namenode.NameNode", "datanode.DataNode")
        ]

    @property
    def uri(self) -> str:
        """The URI of the root, without a slash at its end."""
        return f"hdfs://127.0.0.1:{self.port}"

    def __enter__(self) -> HdfsServer:
        format_it = [*self._java, f"{_SERVERS}.namenode.NameNode", "-format", "-force"]
        subprocess.run(format_it, check=True, capture_output=True, timeout=120)
        name_node, data_node = self._servers
        try:
            name_node.start(lambda: accepts_connections(self.port), timeout=120)
            data_node.start(self._takes_files, timeout=120)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in reversed(self._servers):
            server.stop()

    @property
    def client(self) -> Client:
        """The client of the user who has started the servers, and may do everything."""
        return Client(self.uri)

    def settings(self, **more: str) -> dict[str, str]:
        """Returns the settings of a session; none but `more` are needed."""
        return {f"spark.hadoop.dfs.{key}": value for key, value in more.items()}

    def bucket(self, name: str) -> str:
        """Creates a folder; returns its URI."""
        self.client.mkdirs(f"/{name}", 0o755, True)
        return f"{self.uri}/{name}"

    def put(self, bucket: str, key: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """See `StoreServer`."""
        with self.client.create(f"/{bucket}/{key}", WriteOptions(overwrite=True)) as file:
            file.write("".join(f"{json.dumps(row)}\n" for row in rows).encode())

    def keys(self, bucket: str) -> list[str]:
        """Returns the paths of files."""
        listed = self.client.list_status(f"/{bucket}", True)
        return sorted(each.path.removeprefix(f"/{bucket}/") for each in listed if not each.isdir)

    def delete(self, bucket: str, key: str) -> None:
        """See `StoreServer`."""
        self.client.delete(f"/{bucket}/{key}", False)

    def content(self, bucket: str, key: str) -> bytes:
        """See `StoreServer`."""
        return self.client.read(f"/{bucket}/{key}").read(-1)

    def modified(self, bucket: str, key: str) -> float:
        """See `StoreServer`."""
        return self.client.get_file_info(f"/{bucket}/{key}").modification_time / 1000

    @contextmanager
    def another_user(self, bucket: str) -> Iterator[None]:
        """Has this process be a user who may not look into a bucket."""
        self.client.set_permission(f"/{bucket}", 0o700)
        os.environ["HADOOP_USER_NAME"] = "stranger"
        try:
            yield
        finally:
            del os.environ["HADOOP_USER_NAME"]

    def _takes_files(self) -> bool:
        try:
            with self.client.create("/.ready", WriteOptions(overwrite=True)) as file:
                file.write(b"1")
        except (OSError, RuntimeError):  # no data node yet
            return False
        return self.client.delete("/.ready", False)

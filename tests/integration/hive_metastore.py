"""A real Hive Metastore on loopback, from the jars that PySpark brings, with its data in a folder of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from xml.sax.saxutils import escape

from tests.integration.java import java_executable, spark_home
from tests.postgres_server import PASSWORD, USER, PostgresServer
from tests.processes import Server, accepts_connections, free_ports

from penstock.spark.session.setup.jars import ensure_jars


class HiveMetastoreServer:
    """One server; a context manager. The address and what it knows stay the same over `stop` and `start`. The folders
    of its databases are in `warehouse`.

    Its database is Derby in `folder`; `database` are other settings of `javax.jdo.option`, with `driver` on its class
    path.
    """

    def __init__(self, folder: Path, database: Mapping[str, str] | None = None, driver: Path | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        [self.port] = free_ports(1)
        self.warehouse = folder / "warehouse"
        derby = {"ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true"}
        settings = {
            **{f"javax.jdo.option.{key}": text for key, text in (database or derby).items()},
            "hive.metastore.warehouse.dir": str(self.warehouse),
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            "hive.async.log.enabled": "false",  # PySpark has no jar for it
        }
        lines = (
            f"<property><name>{key}</name><value>{escape(text)}</value></property>" for key, text in settings.items()
        )
        (folder / "hive-site.xml").write_text("<configuration>\n" + "\n".join(lines) + "\n</configuration>\n")
        class_path = ":".join([str(folder), *([str(driver)] if driver is not None else []), f"{spark_home()}/jars/*"])
        java = [java_executable(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        java += [f"-Dderby.stream.error.file={folder}/derby.log", "-cp", class_path]
        command = [*java, "org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(self.port)]
        self._server = Server("Hive Metastore", command, folder / "metastore.log")

    @classmethod
    def on_postgres(cls, folder: Path, database: PostgresServer) -> HiveMetastoreServer:
        """Returns one whose database is an empty PostgreSQL that runs."""
        [driver] = [jar for jar in ensure_jars("core") if jar.name.startswith("postgresql-")]
        connection = {"URL": database.url(), "DriverName": "org.postgresql.Driver", "UserName": USER}
        connection["Password"] = PASSWORD
        return cls(folder, {f"Connection{key}": text for key, text in connection.items()}, driver)

    @property
    def uri(self) -> str:
        """Its address as the pipeline file has it."""
        return f"thrift://127.0.0.1:{self.port}"

    def __enter__(self) -> HiveMetastoreServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Starts a stopped server and returns once it takes connections."""
        self._server.start(lambda: accepts_connections(self.port), timeout=120)

    def stop(self) -> None:
        """Ends the server; clients see refused connections from now on."""
        self._server.stop()

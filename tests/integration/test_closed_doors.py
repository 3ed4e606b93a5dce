"""What a driver lets in: the interface on which its ports are, and what the environment makes of it."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from tests.cli_runner import own_process, penstock, running
from tests.processes import family, free_ports

_PIPELINE = """
import penstock as ps


@ps.materialized_view
def rows():
    return spark.range(3)
"""
_LOOPBACK = "127.0.0.1"


def _own_address() -> str:
    """An address of this machine that others may reach; where it has none, another one of loopback."""
    of_interfaces = (each for addresses in psutil.net_if_addrs().values() for each in addresses)
    found = (each.address for each in of_interfaces if each.family is socket.AF_INET)
    return next((each for each in found if not each.startswith("127.")), "127.0.0.5")


def _project(folder: Path, **settings: object) -> None:
    (folder / "pipeline.py").write_text(_PIPELINE)
    (folder / "penstock.yml").write_text(json.dumps({"name": "closed", **settings}))


def _listening(pid: int) -> set[str]:
    found: set[str] = set()
    for process in family(pid):
        with suppress(psutil.Error):  # it has just ended
            connections = process.net_connections("inet")
            found |= {
                each.laddr.ip.removeprefix("::ffff:") for each in connections if each.status == psutil.CONN_LISTEN
            }
    return found


@pytest.mark.parametrize("interface", [_LOOPBACK, _own_address()], ids=["loopback", "another interface"])
def test_the_drivers_ports_are_on_one_interface(interface: str, tmp_path: Path) -> None:
    """The master does not answer, so the driver is there for a while, with all of its ports."""
    (port,) = free_ports(1)
    conf = {"spark.authenticate": True, "spark.authenticate.secret": "${env:CLUSTER_SECRET}"}
    if interface != _LOOPBACK:
        conf["spark.driver.host"] = conf["spark.driver.bindAddress"] = interface
    _project(tmp_path, master=f"spark://{interface}:{port}", cluster_timeout="40 seconds", spark_conf=conf)
    found: set[str] = set()

    def look() -> bool:
        found.update(_listening(command.pid))
        return interface in found and len(_listening(command.pid) - {_LOOPBACK}) == (interface != _LOOPBACK)

    with running("run", tmp_path, environ={"CLUSTER_SECRET": "s3cret-of-the-test"}) as command:
        command.wait_for(look, what=f"a port on {interface}")
    assert found == {_LOOPBACK, interface}, "Python's own port is on loopback"


def test_a_variable_that_chooses_spark_connect_is_refused(tmp_path: Path) -> None:
    _project(tmp_path)
    outcome = own_process("run", tmp_path, "--json", environ={"SPARK_REMOTE": "sc://127.0.0.1:15002"}).expect(2)
    assert outcome.conditions == ["SPARK_CONNECT_UNSUPPORTED"]
    assert "SPARK_REMOTE" in outcome.errors[0]["message"]


def test_a_script_that_chooses_spark_connect_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "orders.py"
    script.write_text(
        "from pyspark.sql import SparkSession\nSparkSession.builder.remote('sc://127.0.0.1:15002').getOrCreate()\n"
    )
    outcome = own_process("script", script)
    assert outcome.exit_code == 2
    assert "SPARK_CONNECT_UNSUPPORTED" in outcome.stderr


@pytest.mark.usefixtures("one_process")
def test_a_query_of_the_command_line_is_recorded(tmp_path: Path) -> None:
    _project(tmp_path)
    penstock("run", tmp_path).expect(0)
    statement = "SELECT id FROM rows WHERE id > 0"
    assert len(penstock("sql", statement, tmp_path, "--json").expect(0).document) == 2
    penstock("sql", "SELECT map('password', 'hunter2') AS m FROM default.rows LIMIT 1", tmp_path).expect(0)
    document = penstock("audit", tmp_path, "--json").expect(0).document
    first, second = (each["arguments"] for each in document["reads"])
    assert (first["command"], first["tables"], first["statement"]) == ("sql", ["default.rows"], statement)
    assert (second["tables"], second["rows"]) == (["default.rows"], 1)
    assert "hunter2" not in second["statement"]
    penstock("run", tmp_path).expect(0)
    actions = penstock("audit", tmp_path, "--json").expect(0).document["actions"]
    segment = (tmp_path / ".penstock/events").glob("*.jsonl")
    assert document["hash_of_reads"] in "".join(each.read_text() for each in segment), "the next start seals them"
    assert len(actions) == 2

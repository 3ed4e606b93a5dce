"""A cluster that cannot be reached: the start ends in time, with the cause that only the driver's log has."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli_runner import own_process, penstock
from tests.processes import free_ports

pytestmark = pytest.mark.usefixtures("one_process")

_SITE = """<configuration><property><name>yarn.resourcemanager.address</name><value>127.0.0.1:{port}</value></property>
</configuration>"""


@pytest.fixture
def closed() -> int:
    """A port on which nobody listens."""
    [port] = free_ports(1)
    return port


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def _project(folder: Path, master: str) -> Path:
    (folder / "pipeline.py").write_text(
        "import dlt\n\n@dlt.table\ndef rows():\n    return spark.readStream.schema('id LONG').json('in')\n"
    )
    (folder / "in").mkdir()
    (folder / "penstock.yml").write_text(f"name: small\nmaster: {master}\ncluster_timeout: 8 seconds\n")
    return folder


@pytest.mark.parametrize(
    ("master", "reason"),
    [
        ("spark://127.0.0.1:{port}", "Connection refused"),
        pytest.param("yarn", "Retrying connect to server: localhost", marks=pytest.mark.slow),
        pytest.param("spark://nowhere.invalid:7077", "UnknownHostException: nowhere.invalid", marks=pytest.mark.slow),
    ],
)
def test_a_master_that_is_not_there_ends_the_start(tmp_path: Path, closed: int, master: str, reason: str) -> None:
    (tmp_path / "yarn-site.xml").write_text(_SITE.format(port=closed))
    project = _project(tmp_path, f"{master.format(port=closed)}\nspark_conf: {{spark.authenticate: false}}")
    outcome = own_process("run", project, "--json", environ={"HADOOP_CONF_DIR": str(tmp_path)}).expect(1)
    error = outcome.error("CLUSTER_START_TIMEOUT")
    assert "did not accept the application within 8 seconds" in error["message"]
    assert reason in error["message"]
    update = penstock("status", project, "--json").expect(0).document["update"]["error"]["condition"]
    assert update == "CLUSTER_START_TIMEOUT"


@pytest.mark.slow  # test_kubernetes_start.py has a start that fails there, the test above a refused connection
@pytest.mark.parametrize(
    ("spark_conf", "reason"),
    [
        ("{spark.kubernetes.container.image: spark:4.2.0}", "Connection refused"),
        ("{}", "Must specify the executor container image"),
    ],
)
def test_a_start_on_kubernetes_that_fails_says_why(tmp_path: Path, closed: int, spark_conf: str, reason: str) -> None:
    project = _project(tmp_path, f"k8s://http://127.0.0.1:{closed}\nspark_conf: {spark_conf}")
    [error] = own_process("run", project, "--json").expect(1).errors
    assert error["condition"] in {"SPARK_START_FAILED", "CLUSTER_START_TIMEOUT"}  # whether Spark gives up before
    assert reason in error["message"]


@pytest.mark.slow
def test_a_master_that_does_not_answer_ends_the_start(tmp_path: Path, silent: int) -> None:
    project = _project(tmp_path, f"spark://127.0.0.1:{silent}")
    error = own_process("run", project, "--json").expect(1).error("CLUSTER_START_TIMEOUT")
    assert f"spark://127.0.0.1:{silent} did not accept" in error["message"]


def test_yarn_without_a_configuration_is_refused_at_once(tmp_path: Path) -> None:
    project = _project(tmp_path, "yarn")
    environ = {"HADOOP_CONF_DIR": "", "YARN_CONF_DIR": ""}
    outcome = own_process("run", project, "--json", environ=environ).expect(2)
    assert outcome.conditions == ["YARN_NOT_CONFIGURED"]

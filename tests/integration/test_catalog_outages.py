"""A catalog that is away, or takes connections and never answers: a run does not wait for it, and registers later."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import TableNotFoundError
from tests.cli_runner import penstock, running
from tests.faults.killing import kill
from tests.faults.registering import declare, register, run_of
from tests.integration.hive_metastore import HiveMetastoreServer
from tests.integration.tcp_gate import TcpGate
from tests.postgres_server import PostgresServer
from tests.processes import PATIENCE, wait_until
from tests.unity_server import Refused, UnityServer

from penstock.config import load_project
from penstock.events import EventLog, EventType, FlowStatus, builders
from penstock.events.log.reader import read_events
from penstock.registration.drift import registration_drift

CREATED, UPDATED = ("CREATED", None, "INFO"), ("UPDATED", None, "INFO")
AWAY = ("FAILED", "CATALOG_NOT_REACHABLE", "WARN")
MODULES = [f"penstock.registration.{each}._SECONDS" for each in ("hive.metastore", "unity.client")]


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="module")
def metastore(tmp_path_factory: pytest.TempPathFactory, database: PostgresServer) -> Iterator[HiveMetastoreServer]:
    with HiveMetastoreServer.on_postgres(tmp_path_factory.mktemp("metastore"), database) as server:
        yield server


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in MODULES:
        monkeypatch.setattr(module, PATIENCE * 1.0)


@contextmanager
def _gate(kind: str, metastore: HiveMetastoreServer) -> Iterator[tuple[TcpGate, str]]:
    """Yields the door before a catalog of this kind, and what the pipeline file says of it."""
    if kind == "hive":
        with TcpGate(metastore.port) as gate:
            yield gate, f"{{type: hive, uri: 'thrift://127.0.0.1:{gate.port}'}}"
    else:
        with UnityServer() as server, TcpGate(int(server.uri.rpartition(":")[2])) as gate:
            yield gate, f"{{type: unity, uri: 'http://127.0.0.1:{gate.port}'}}"


def _project(folder: Path, catalog: str) -> Path:
    (folder / "penstock.yml").write_text(
        f"name: shop\nretries: {{first_delay: 100 milliseconds}}\ncatalogs:\n  found: {catalog}\n"
    )
    (folder / "pipeline.py").write_text("")
    return folder


def _written(path: Path, **columns: list[object]) -> str:
    write_deltalake(path, pa.table(columns), mode="overwrite", schema_mode="overwrite")
    return str(path)


def _registrations(project: Path) -> list[tuple[str, str | None, str]]:
    """Returns of each event its action, condition, and level; of an outage with other reasons after the first, one."""
    found, reasons = list[tuple[str, str | None, str]](), dict[str, str | None]()
    for event in read_events(load_project(project).storage, types=[EventType.TABLE_REGISTRATION]):
        noted, error = event.details["table_registration"], event.error or {}
        entry = (noted["action"], error.get("condition"), event.level.value)
        before = reasons.get(noted["catalog"])
        reasons[noted["catalog"]] = reason = error.get("message") if entry == AWAY else None
        if before is None or reason in {None, before}:
            found.append(entry)  # not that it has refused connections, and then been slow to answer the first
    return found


def _wait_for(project: Path, *expected: tuple[str, str | None, str]) -> None:
    wait_until(lambda: _registrations(project) == list(expected), timeout=20, what=f"{expected} to be all there is")


def _flow_ended(log: EventLog, name: str) -> float:
    """Returns how long the log took for the event, in seconds: flows wait for no more."""
    started = time.monotonic()
    built = builders.flow_status(name, FlowStatus.COMPLETED)
    log.append(EventType.FLOW_PROGRESS, *built, dataset=name, flow=name)
    return time.monotonic() - started


@pytest.mark.parametrize("outage", [TcpGate.refuse, TcpGate.hang])
@pytest.mark.parametrize("kind", ["hive", "unity"])
def test_an_outage_delays_registration_and_no_flow(
    metastore: HiveMetastoreServer, tmp_path: Path, kind: str, outage: Callable[[TcpGate], None]
) -> None:
    """At the start of a run, and in its middle."""
    name = f"{kind}_{outage.__name__}.orders"
    with _gate(kind, metastore) as (gate, catalog):
        project = _project(tmp_path, catalog)
        tables = {name: _written(tmp_path / "orders", id=[1])}
        outage(gate)
        with run_of(project) as log:
            declare(log, tables)
            assert _flow_ended(log, name) < 0.5
            _wait_for(project, AWAY)
            assert [each.condition for each in registration_drift(load_project(project))] == ["CATALOG_NOT_REACHABLE"]
            time.sleep(1)  # in which it is tried again: that is no news
            gate.open()
            _wait_for(project, AWAY, CREATED)

            outage(gate)
            _written(tmp_path / "orders", id=[1], at=[1])
            assert _flow_ended(log, name) < 0.5
            _wait_for(project, AWAY, CREATED, AWAY)
            gate.open()
            _wait_for(project, AWAY, CREATED, AWAY, UPDATED)
        assert list(registration_drift(load_project(project))) == []


def test_the_database_behind_the_metastore_is_away(
    metastore: HiveMetastoreServer, database: PostgresServer, tmp_path: Path
) -> None:
    project = _project(tmp_path, f"{{type: hive, uri: '{metastore.uri}'}}")
    database.stop()
    with run_of(project) as log:
        declare(log, {"behind.orders": _written(tmp_path / "orders", id=[1])})
        _wait_for(project, AWAY)
        database.start()
        _wait_for(project, AWAY, CREATED)
    assert list(registration_drift(load_project(project))) == []


def test_a_table_at_which_the_metastore_fails_is_tried_again_soon(
    metastore: HiveMetastoreServer, tmp_path: Path
) -> None:
    """It cannot make the database's folder; what it refuses for good waits for the review."""
    project = _project(tmp_path, f"{{type: hive, uri: '{metastore.uri}'}}")
    metastore.warehouse.mkdir(exist_ok=True)
    folder = metastore.warehouse / "full.db"
    folder.write_text("in its place")
    failed, refused = (("FAILED", each, "WARN") for each in ("TABLE_REGISTRATION_FAILED", "TABLE_NOT_REGISTERED"))
    with run_of(project) as log:
        tables = {name: _written(tmp_path / name, id=[1]) for name in ("full.orders", "other.new-orders")}
        declare(log, tables)
        _wait_for(project, failed, refused)
        time.sleep(1)
        folder.unlink()
        _wait_for(project, failed, refused, CREATED)


def test_a_unity_server_error_is_tried_again_soon(tmp_path: Path) -> None:
    """A denial is not: it waits for the review."""
    with UnityServer() as server:
        project = _project(tmp_path, f"{{type: unity, uri: '{server.uri}'}}")

        def ill(method: str, path: str) -> None:
            raise Refused(500, "InternalException", "no database") if "orders" in path else Refused(403, "Denied")

        server.before = ill
        with run_of(project) as log:
            declare(log, {f"shop.{name}": _written(tmp_path / name, id=[1]) for name in ("orders", "items")})
            wait_until(lambda: len(_registrations(project)) == 2, timeout=20, what="both failures")
            server.before = lambda method, path: None
            denied = ("FAILED", "TABLE_NOT_REGISTERED", "WARN")
            wait_until(lambda: CREATED in _registrations(project), timeout=20, what="the retry")
            assert sorted(_registrations(project)) == sorted([AWAY, denied, CREATED])


@pytest.mark.parametrize("kind", ["hive", "unity"])
def test_a_run_ends_beside_a_catalog_that_hangs(
    metastore: HiveMetastoreServer, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in MODULES:
        monkeypatch.setattr(module, 60.0)
    with _gate(kind, metastore) as (gate, catalog), UnityServer() as beside:
        project = _project(tmp_path, f"{catalog}\n  beside: {{type: unity, uri: '{beside.uri}'}}")
        tables = {f"{kind}_end.orders": _written(tmp_path / "orders", id=[1])}
        gate.hang()
        started = time.monotonic()
        register(project, tables, close_seconds=2)
        assert time.monotonic() - started < 5
        assert _registrations(project) == [CREATED, AWAY], "it says so, though the catalog has not even timed out"
        gate.refuse()  # the first run is gone, and its requests with it
        gate.open()
        register(project, tables)
        assert _registrations(project) == [CREATED, AWAY, CREATED]
        assert list(registration_drift(load_project(project))) == []


@pytest.mark.usefixtures("one_process")
def test_batches_go_on_beside_catalogs_that_hang_and_the_next_run_registers_the_rest(
    metastore: HiveMetastoreServer, tmp_path: Path
) -> None:
    """One catalog answers again in the run, which is killed before the other does."""
    _arrive(tmp_path, 1)
    with _gate("hive", metastore) as (hive, warehouse), _gate("unity", metastore) as (unity, lake):
        hive.hang()
        unity.hang()
        project = _project(tmp_path, f"{warehouse}\n  lake: {lake}\nschema: hung")
        (project / "pipeline.py").write_text(
            "import dlt\n\n\n@dlt.table\ndef orders():\n    return spark.readStream.schema('id LONG').json('in')\n"
        )
        table = tmp_path / ".penstock" / "tables" / "hung" / "orders"
        with running("run", project, "--continuous", "--trigger", "1 second") as command:
            command.wait_for(lambda: _rows(table) == 1, what="the first batch")
            _arrive(tmp_path, 2)
            command.wait_for(lambda: _rows(table) == 2, what="a batch beside catalogs that hang")
            command.wait_for(lambda: _registrations(project) == [AWAY] * 2, what="both to be named")
            hive.open()
            command.wait_for(lambda: _registrations(project) == [AWAY, AWAY, CREATED], what="the registration")
            kill(command, "Python")
        unity.refuse()
        unity.open()
        penstock("run", project).expect(0)
        assert _registrations(project) == [AWAY, AWAY, CREATED, CREATED]
        assert penstock("doctor", project, "--json").document["findings"] == []


def _arrive(project: Path, number: int) -> None:
    (project / "in").mkdir(exist_ok=True)
    (project / "in" / f"{number}.json").write_text(f'{{"id": {number}}}\n')


def _rows(table: Path) -> int:
    with suppress(TableNotFoundError):
        return int(DeltaTable(table).to_pyarrow_dataset().count_rows())
    return 0

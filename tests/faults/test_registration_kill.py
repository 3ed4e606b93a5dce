"""kill -9 between a table's commit and its registration, and between the requests of a registration.

Whatever the point, and whether the last request arrived or not: the next run registers the rest, and nothing twice.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.faults.registering import register
from tests.integration.hive_metastore import HiveMetastoreServer
from tests.integration.metastore_proxy import CallLost, MetastoreProxy
from tests.processes import wait_until
from tests.unity_server import Refused, UnityServer

from penstock.config import load_project
from penstock.events.log.reader import read_events
from penstock.events.types import EventType
from penstock.registration.drift import registration_drift
from penstock.registration.hive.metastore import Metastore

_POINTS: Final = {
    "hive": {
        "create_database": 1,
        "create_table": 3,
        "alter_table": 5,  # of a column's type: refused, without columns, with the new ones
    },
    "unity": {
        "create table": 5,  # refused for want of a schema, each of three, and the one that has moved
        "create schema": 1,
        "update table": 2,
        "delete table": 1,
    },
}
_IN_CI: Final = {
    ("create_database", 1, False),
    ("create_table", 2, True),
    ("alter_table", 2, True),
    ("alter_table", 3, False),
    ("create table", 4, True),
    ("update table", 1, False),
    ("delete table", 1, True),
}
_CASES: Final = [
    pytest.param(
        *(kind, call, nth, arrives),
        id=f"{kind}-{call}-{nth}-{'arrives' if arrives else 'is lost'}",
        marks=[] if (call, nth, arrives) in _IN_CI else pytest.mark.slow,
    )
    for kind, calls in _POINTS.items()
    for call, count in calls.items()
    for nth in range(1, count + 1)
    for arrives in (True, False)
]


@dataclass
class Calls:
    """The calls that a catalog got and that change it; the one that is `held` waits until it is let go."""

    made: list[str] = field(default_factory=list)
    held: tuple[str, int] | None = None
    arrives: bool = True
    reached: threading.Event = field(default_factory=threading.Event)
    killed: threading.Event = field(default_factory=threading.Event)

    def __call__(self, call: str) -> None:
        """Notes a call, before the catalog has it.

        Raises:
            CallLost: it was held, and is not to arrive.
        """
        self.made.append(call)
        if self.held == (call, self.made.count(call)):
            self.reached.set()
            assert self.killed.wait(60)
            if not self.arrives:
                raise CallLost


@dataclass
class Site:
    """A catalog as the pipeline file names it, and the columns that it has of a table."""

    settings: str
    columns: Callable[[str, str], list[str]]


@pytest.fixture(scope="module")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveMetastoreServer]:
    with HiveMetastoreServer(tmp_path_factory.mktemp("metastore")) as server:
        yield server


@contextmanager
def _hive(metastore: HiveMetastoreServer, calls: Calls) -> Iterator[Site]:
    def columns(schema: str, name: str) -> list[str]:
        with Metastore((("127.0.0.1", metastore.port),)) as client:
            entry = client.table(schema, name)
            return [] if entry is None else [f"{each[1]} {each[2]}" for each in entry[7][1]]

    with MetastoreProxy(metastore.port) as proxy:
        proxy.before = lambda name: calls(name) if name.startswith(("create", "alter", "drop")) else None
        yield Site(f"{{type: hive, uri: 'thrift://127.0.0.1:{proxy.port}'}}", columns)


@contextmanager
def _unity(calls: Calls) -> Iterator[Site]:
    def before(method: str, path: str) -> None:
        parent = path.rpartition("/")[0]
        if method != "GET":
            verb = "delete" if method == "DELETE" else "update" if parent.endswith("/tables") else "create"
            try:
                calls(f"{verb} {'schema' if path.endswith('/schemas') else 'table'}")
            except CallLost as lost:
                raise Refused(503, "Gone") from lost

    def columns(schema: str, name: str) -> list[str]:
        entry = server.tables.get(("main", schema, name))
        return [] if entry is None else [f"{each['name']} {each['type']}" for each in entry["columns"]["fields"]]

    with UnityServer() as server:
        server.before = before
        yield Site(f"{{type: unity, uri: '{server.uri}'}}", columns)


@pytest.mark.parametrize(("kind", "call", "nth", "arrives"), _CASES)
def test_a_killed_run_leaves_the_rest_to_the_next(
    metastore: HiveMetastoreServer, tmp_path: Path, kind: str, call: str, nth: int, arrives: bool
) -> None:
    calls = Calls(held=(call, nth), arrives=arrives)
    schema = f"{call}_{nth}_{arrives}".replace(" ", "_").lower()
    long = "long" if kind == "unity" else "bigint"
    with _hive(metastore, calls) if kind == "hive" else _unity(calls) as site:
        project = _project(tmp_path, site)
        first = {name: _written(tmp_path / name, id=[1]) for name in ("orders", "items", "shops")}
        _run(project, schema, first, calls)
        created = _check(project, site, schema, first, calls, [f"id {long}"] * 3)
        assert set(created.values()) <= {1}, "created twice"

        changed = {
            "orders": _written(tmp_path / "orders", id=[True]),
            "items": _written(tmp_path / "items", id=[1], at=[1]),
            "shops": _written(tmp_path / "moved", id=[1], at=[1]),
        }
        _run(project, schema, changed, calls)
        _check(project, site, schema, changed, calls, ["id boolean", *[f"id {long}, at {long}"] * 2])
    assert calls.reached.is_set(), "the point is one of this registration"


def _project(folder: Path, site: Site) -> Path:
    project = folder / "project"
    project.mkdir()
    (project / "penstock.yml").write_text(f"name: shop\ncatalogs:\n  found: {site.settings}\n")
    (project / "pipeline.py").write_text("")
    return project


def _written(path: Path, **columns: list[object]) -> Path:
    write_deltalake(path, pa.table(columns), mode="overwrite", schema_mode="overwrite")
    return path


def _run(project: Path, schema: str, tables: Mapping[str, Path], calls: Calls) -> None:
    """One run in a process of its own, that is killed at the point if it comes to it."""
    command = [sys.executable, "-m", "tests.faults.registering", str(project)]
    command += [f"{schema}.{name}={path}" for name, path in tables.items()]
    before = calls.reached.is_set()
    with subprocess.Popen(command, cwd=Path(__file__).parents[2]) as program:
        wait_until(
            lambda: program.poll() is not None or calls.reached.is_set() != before,
            timeout=30,
            what="the run to end, or to come to the point",
            interval=0.01,
        )
        if calls.reached.is_set() != before:
            program.kill()
        assert program.wait(30) == (-signal.SIGKILL if calls.reached.is_set() != before else 0)
    if calls.reached.is_set():
        calls.killed.set()


def _check(
    project: Path, site: Site, schema: str, tables: Mapping[str, Path], calls: Calls, expected: list[str]
) -> Counter[str]:
    """The next run makes all right, and a further one finds nothing to do; returns what was created, so far."""
    places = {f"{schema}.{name}": str(path) for name, path in tables.items()}
    register(project, places)
    assert [", ".join(site.columns(schema, name)) for name in tables] == expected
    config = load_project(project)
    assert list(registration_drift(config)) == []
    made = list(calls.made)
    register(project, places)
    assert calls.made == made, "nothing twice"
    events = [
        each.details["table_registration"] for each in read_events(config.storage, types=[EventType.TABLE_REGISTRATION])
    ]
    assert "FAILED" not in {each["action"] for each in events}
    return Counter(each["dataset"] for each in events if each["action"] == "CREATED")

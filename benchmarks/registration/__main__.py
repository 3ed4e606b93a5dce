"""Times the registration of tables in catalogs: `python -m benchmarks.registration [--tables N] [--repeat N]`.

The catalogs are a Hive Metastore on Derby, one on PostgreSQL, and the tests' server of Unity Catalog's API, in this
process. A time is that of one table, its own log read and the catalog asked, on average over all of them. Then what
flows wait for: an event of theirs, in a run that registers all tables meanwhile, and in one without catalogs.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import PrimitiveType
from tests.faults.registering import declare, run_of
from tests.integration.hive_metastore import HiveMetastoreServer
from tests.postgres_server import PostgresServer
from tests.unity_server import UnityServer

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish
from penstock.config import load_project
from penstock.events import EventType, FlowStatus, builders
from penstock.events.log.reader import read_events
from penstock.graph.identifier import Identifier
from penstock.registration.catalog import Action, Catalog
from penstock.registration.catalogs import catalogs_of
from penstock.registration.table import Owner, read_registration

_GOAL: Final = 50
_COLUMNS: Final = 30
_OWNER: Final = Owner("shop", "/srv/shop")
_EVENTS: Final = 200
_BETWEEN: Final = 0.005


def main() -> None:
    given = _arguments()
    work = Path(tempfile.mkdtemp(prefix="registration-", dir=given.work))
    try:
        with ExitStack() as servers:
            settings = _start(servers, work)
            runs = [run for what, each in settings.items() for run in _of_catalog(what, each, work, given)]
            runs += _of_flows(settings, work, given)
    finally:
        shutil.rmtree(work)
    publish("registration", {name: getattr(given, name) for name in ("tables", "repeat")}, runs, given.results)


def _start(servers: ExitStack, work: Path) -> dict[str, str]:
    """Returns what a pipeline file says of each catalog, once it runs."""
    derby = servers.enter_context(HiveMetastoreServer(work / "derby"))
    database = servers.enter_context(PostgresServer())
    postgres = servers.enter_context(HiveMetastoreServer.on_postgres(work / "postgres", database))
    unity = servers.enter_context(UnityServer())
    return {
        "Hive on Derby": f"{{type: hive, uri: '{derby.uri}'}}",
        "Hive on PostgreSQL": f"{{type: hive, uri: '{postgres.uri}'}}",
        "Unity Catalog": f"{{type: unity, uri: '{unity.uri}'}}",
    }


def _of_catalog(what: str, settings: str, work: Path, given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    [catalog] = catalogs_of(load_project(_project(work / "asked", f"  found: {settings}")))
    measured: dict[str, list[float]] = {"a table created": [], "found right": [], "given a column": []}
    for turn in range(given.repeat + 1):  # the first one warms up
        tables = _tables(work / "tables", given.tables, f"turn{turn}")
        times = [_register(catalog, tables, Action.CREATED), _register(catalog, tables, None)]
        for path in tables.values():
            DeltaTable(path).alter.add_columns(Field("added", PrimitiveType("string")))
        times.append(_register(catalog, tables, Action.UPDATED))
        shutil.rmtree(work / "tables")
        if turn:
            for seconds, took in zip(measured.values(), times, strict=True):
                seconds.append(took)
    for act, seconds in measured.items():
        yield _run(f"{what}: {act}", seconds, _GOAL)


def _register(catalog: Catalog, tables: dict[str, str], expected: Action | None) -> float:
    """Returns the seconds of a table."""
    began = time.monotonic()
    with catalog.connect() as session:
        for name, path in tables.items():
            table = read_registration(Identifier(*name.split(".")), path, _OWNER)
            assert table is not None
            change = session.register(table)
            if (change.action if change else None) is not expected:
                raise SystemExit(f"{name}: {change} instead of {expected}")
    return (time.monotonic() - began) / len(tables)


def _of_flows(settings: dict[str, str], work: Path, given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    catalogs = "\n".join(f"  c{number}: {each}" for number, each in enumerate(settings.values()))
    for what, chosen in {"no catalogs": "  {}", "all tables are registered in all catalogs": catalogs}.items():
        seconds = []
        for turn in range(given.repeat):
            tables = _tables(work / "tables", given.tables, f"beside{turn}")
            project = _project(work / f"beside{len(chosen)}_{turn}", chosen)
            with run_of(project, close_seconds=600) as log:
                declare(log, tables)
                for _ in range(_EVENTS):
                    time.sleep(_BETWEEN)
                    began = time.monotonic()
                    built = builders.flow_status("flow", FlowStatus.RUNNING)
                    log.append(EventType.FLOW_PROGRESS, *built, dataset=next(iter(tables)), flow="flow")
                    seconds.append(time.monotonic() - began)
            _check(project, len(settings) * given.tables if chosen is catalogs else 0)
            shutil.rmtree(work / "tables")
        yield _run(f"an event of a flow, {what}", seconds)
        yield _run(f"the slowest of a hundred, {what}", sorted(seconds)[len(seconds) * 99 // 100 :][:1])


def _run(what: str, seconds: list[float], goal: int | None = None) -> dict[str, Any]:
    value = round(statistics.median(seconds) * 1000, 2)
    kept = {} if goal is None else {"seconds": [round(each, 5) for each in seconds]}
    return {"what": what, "value": value, "goal": goal, "unit": "ms", **kept}


def _check(project: Path, expected: int) -> None:
    events = read_events(load_project(project).storage, types=[EventType.TABLE_REGISTRATION])
    created = sum(each.details["table_registration"]["action"] == "CREATED" for each in events)
    if created != expected:
        raise SystemExit(f"{created} tables are registered instead of {expected}")


def _project(folder: Path, catalogs: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "penstock.yml").write_text(f"name: shop\ncatalogs:\n{catalogs}\n")
    (folder / "pipeline.py").write_text("")
    return folder


def _tables(folder: Path, count: int, schema: str) -> dict[str, str]:
    """Writes tables; returns the folder of each by its name."""
    first = folder / "0"
    write_deltalake(first, pa.table({f"column{number}": [1] for number in range(_COLUMNS)}))
    for number in range(1, count):
        shutil.copytree(first, folder / str(number))
    return {f"{schema}.orders{number}": str(folder / str(number)) for number in range(count)}


def _arguments() -> argparse.Namespace:
    parser = parser_of("registration", __doc__)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=5)
    return parse(parser)


if __name__ == "__main__":
    main()

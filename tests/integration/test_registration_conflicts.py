"""Two tables that want one name in a catalog: of two pipelines, or of one pipeline's two catalogs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.faults.registering import register
from tests.integration.hive_metastore import HiveMetastoreServer
from tests.unity_server import UnityServer

from penstock.config import load_project
from penstock.events.log.reader import read_events
from penstock.events.types import EventType
from penstock.graph.identifier import Identifier
from penstock.registration.catalogs import remove_entries
from penstock.registration.drift import registration_drift
from penstock.registration.hive.metastore import Metastore


@pytest.fixture(scope="module")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveMetastoreServer]:
    with HiveMetastoreServer(tmp_path_factory.mktemp("metastore")) as server:
        yield server


@pytest.fixture
def unity() -> Iterator[UnityServer]:
    with UnityServer(catalogs=("main", "raw")) as server:
        yield server


def _project(folder: Path, name: str, catalogs: Mapping[str, str]) -> Path:
    project = folder / name
    project.mkdir(exist_ok=True)
    lines = [f"name: {name}", "catalog: main", "catalogs:", *(f"  {each}: {{{of}}}" for each, of in catalogs.items())]
    (project / "penstock.yml").write_text("\n".join(lines))
    (project / "pipeline.py").write_text("")
    return project


def _written(path: Path) -> str:
    write_deltalake(path, pa.table({"id": [1]}))
    return str(path)


def _said(project: Path) -> set[tuple[str, str, str, str | None]]:
    """Returns catalog, dataset, action and condition of each event."""
    found = set()
    for event in read_events(load_project(project).storage, types=[EventType.TABLE_REGISTRATION]):
        details = event.details["table_registration"]
        condition = None if event.error is None else event.error["condition"]
        found.add((details["catalog"], details["dataset"], details["action"], condition))
    return found


def _place(server: HiveMetastoreServer, database: str) -> str | None:
    with Metastore((("127.0.0.1", server.port),)) as client:
        entry = client.table(database, "orders")
        return None if entry is None else entry[7][7][3]["path"]


def test_the_first_pipeline_keeps_a_name_until_it_drops_the_table(
    metastore: HiveMetastoreServer, unity: UnityServer, tmp_path: Path
) -> None:
    catalogs = {"warehouse": f"type: hive, uri: '{metastore.uri}'", "lake": f"type: unity, uri: '{unity.uri}'"}
    first, second = (_project(tmp_path, name, catalogs) for name in ("first", "second"))
    theirs, ours = (_written(tmp_path / f"of_{name}") for name in ("first", "second"))
    register(first, {"taken.orders": theirs})
    register(second, {"taken.orders": ours})
    refused = {(each, "taken.orders", "FAILED", "TABLE_REGISTERED_BY_ANOTHER") for each in catalogs}
    assert _said(second) == refused
    drift = list(registration_drift(load_project(second)))
    assert [each.condition for each in drift] == ["TABLE_REGISTERED_BY_ANOTHER"] * 2
    assert all("pipeline first" in each.message for each in drift)
    assert _place(metastore, "taken") == f"file:{theirs}"
    assert unity.tables["main", "taken", "orders"]["location"] == f"file://{theirs}"
    assert list(registration_drift(load_project(first))) == []

    assert len(list(remove_entries(load_project(first), Identifier("taken", "orders")))) == 2
    register(second, {"taken.orders": ours})
    assert _said(second) == refused | {(each, "taken.orders", "CREATED", None) for each in catalogs}
    assert _place(metastore, "taken") == f"file:{ours}"
    assert list(registration_drift(load_project(second))) == []


def test_orders_of_two_catalogs_stay_two_tables(
    metastore: HiveMetastoreServer, unity: UnityServer, tmp_path: Path
) -> None:
    """A metastore has no catalogs: one name is refused to both, until the file keeps them apart."""
    tables = {f"{name}sales.orders": _written(tmp_path / f"{name}orders") for name in ("", "raw.")}
    catalogs = {"warehouse": f"type: hive, uri: '{metastore.uri}'", "lake": f"type: unity, uri: '{unity.uri}'"}
    project = _project(tmp_path, "shop", catalogs)
    register(project, tables)
    clash = {("warehouse", name, "FAILED", "REGISTRATION_NAME_CLASH") for name in tables}
    created = {("lake", name, "CREATED", None) for name in tables}
    assert _said(project) == clash | created
    assert [each.condition for each in registration_drift(load_project(project))] == ["REGISTRATION_NAME_CLASH"] * 2
    assert _place(metastore, "sales") is None
    assert {key[:2]: entry["location"] for key, entry in unity.tables.items()} == {
        ("main", "sales"): f"file://{tables['sales.orders']}",
        ("raw", "sales"): f"file://{tables['raw.sales.orders']}",
    }

    apart = {**catalogs, "warehouse": f"{catalogs['warehouse']}, schema: '{{catalog}}_{{schema}}'"}
    register(_project(tmp_path, "shop", apart), tables)
    assert _said(project) == clash | created | {("warehouse", name, "CREATED", None) for name in tables}
    assert [_place(metastore, each) for each in ("main_sales", "raw_sales")] == [f"file:{at}" for at in tables.values()]
    assert list(registration_drift(load_project(project))) == []

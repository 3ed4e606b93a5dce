"""Tables in Unity Catalog: against a server written from its specification, see `tests/unity_server.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import PrimitiveType
from tests.unit.registration.test_thrift import answering
from tests.unity_server import Refused, UnityServer

from penstock.config import UnityCatalogServer
from penstock.config.values.secret import refer
from penstock.errors import ExternalError, StateError
from penstock.graph.identifier import Identifier
from penstock.registration.catalog import Action, Change
from penstock.registration.entry import INACTIVE
from penstock.registration.table import Owner, TableRegistration, read_registration
from penstock.registration.unity.catalog import UnityCatalog

ORDERS, KEY = Identifier("Shop", "Orders"), ("main", "shop", "orders")


@pytest.fixture
def server() -> Iterator[UnityServer]:
    with UnityServer() as running:
        yield running


def catalog_of(server: UnityServer, **settings: str) -> UnityCatalog:
    return UnityCatalog(UnityCatalogServer("lake", server.uri, **settings), None)  # type: ignore[arg-type]


def stored(path: Path, *, comment: str | None = None) -> Path:
    nested = pa.array([[{"k": {"a": 1}}], []], pa.list_(pa.struct([("k", pa.map_(pa.string(), pa.int64()))])))
    table = pa.table({"Id": pa.array([1, 2], pa.int64()), "amount": nested, "day": ["a", "b"]})
    configuration = {"delta.logRetentionDuration": "interval 60 days"}
    write_deltalake(path, table, description=comment, configuration=configuration, partition_by=["day"])
    return path


def registration(path: Path, owner: Owner | None = None, identifier: Identifier = ORDERS) -> TableRegistration:
    found = read_registration(identifier, str(path), owner or Owner("orders", "s"))
    assert found is not None
    return found


def test_a_table_is_created_corrected_marked_and_removed(server: UnityServer, tmp_path: Path) -> None:
    path, owner = stored(tmp_path / "orders", comment="All orders"), Owner("orders", "s")
    with catalog_of(server).connect() as session:
        table = registration(path)
        assert session.differences(table) == ("there is no such table",)
        assert session.register(table) == Change(Action.CREATED)
        assert session.register(table) is None, "registered again, it is as it was"
        assert session.differences(table) == ()
        entry = server.tables[KEY]
        assert (entry["location"], entry["comment"]) == (f"file://{path}", "All orders")
        assert entry["partition-columns"] == ["day"]
        assert entry["properties"] == {
            "comment": "All orders",
            "delta.logRetentionDuration": "interval 60 days",
            "penstock.pipeline": "orders",
            "penstock.storage": "s",
        }
        first = entry["table-uuid"]

        DeltaTable(path).alter.add_columns(Field("city", PrimitiveType("string")))
        DeltaTable(path).alter.set_table_description("Orders of all shops")
        changed = session.register(registration(path))
        assert changed == Change(Action.UPDATED, ("column city is missing", "comment=All orders"))
        assert [each["name"] for each in entry["columns"]["fields"]] == ["Id", "amount", "day", "city"]
        assert (entry["comment"], entry["table-uuid"]) == ("Orders of all shops", first), "grants on it stay"

        assert session.deactivate(ORDERS, owner) == Change(Action.DEACTIVATED)
        assert session.deactivate(ORDERS, owner) is None
        assert INACTIVE in entry["properties"]
        again = session.register(registration(path))
        assert again is not None
        assert again.action is Action.UPDATED
        assert INACTIVE not in entry["properties"]
        uncommented = replace(registration(path), comment=None)
        assert session.register(uncommented) == Change(Action.UPDATED, ("comment=Orders of all shops",))
        assert entry["comment"] == ""
        assert session.register(uncommented) is None

        assert session.remove(ORDERS, owner)
        assert not session.remove(ORDERS, owner)
    assert KEY not in server.tables
    assert (path / "_delta_log").is_dir()


def test_a_table_that_has_moved_gets_a_new_entry(server: UnityServer, tmp_path: Path) -> None:
    with catalog_of(server).connect() as session:
        session.register(registration(stored(tmp_path / "first")))
        moved = session.register(registration(stored(tmp_path / "second")))
    assert moved == Change(Action.UPDATED, (f"location file://{tmp_path}/first",))
    assert server.tables[KEY]["location"] == f"file://{tmp_path}/second"


def test_the_entry_of_another_is_left_as_it_is(server: UnityServer, tmp_path: Path) -> None:
    theirs, ours = Owner("sales", "/srv/sales"), Owner("orders", "s")
    with catalog_of(server).connect() as session:
        session.register(registration(stored(tmp_path / "first"), theirs))
        before = dict(server.tables[KEY])
        table = registration(stored(tmp_path / "second"), ours)
        for act in (session.register, session.differences):
            with pytest.raises(StateError) as refused:
                act(table)
            assert refused.value.condition == "TABLE_REGISTERED_BY_ANOTHER"
            assert refused.value.facts["owner"] == "pipeline sales on /srv/sales"
        assert session.deactivate(ORDERS, ours) is None
        assert not session.remove(ORDERS, ours)
    assert server.tables[KEY] == before


def test_an_entry_that_changes_meanwhile_is_read_again(server: UnityServer, tmp_path: Path) -> None:
    path = stored(tmp_path / "orders")
    with catalog_of(server).connect() as session:
        session.register(registration(path))
        DeltaTable(path).alter.set_table_description("Orders")
        others = iter(range(5))

        def change(method: str, path: str) -> None:
            if method == "POST" and next(others) < 1:
                server.tables[KEY].update(etag="77", properties={**server.tables[KEY]["properties"], "team": "sales"})

        server.before = change
        assert session.register(registration(path)) == Change(Action.UPDATED, ("comment=None",))
        entry = server.tables[KEY]
        assert (entry["properties"]["team"], entry["comment"]) == ("sales", "Orders")
        DeltaTable(path).alter.set_table_description("All orders")

        def always(method: str, path: str) -> None:
            if method == "POST":
                raise Refused(409, "UpdateRequirementConflictException")

        server.before = always
        with pytest.raises(ExternalError) as refused:
            session.register(registration(path))
    assert refused.value.condition == "TABLE_REGISTRATION_FAILED"


@pytest.mark.parametrize(
    ("identifier", "settings", "reason"),
    [
        (Identifier("shop", "new-orders"), {}, "InvalidParameterValueException"),
        (ORDERS, {"catalog": "nowhere"}, "NoSuchCatalogException"),
    ],
    ids=["a name that it does not take", "no such catalog"],
)
def test_what_the_server_refuses_is_a_condition(
    server: UnityServer, tmp_path: Path, identifier: Identifier, settings: dict[str, str], reason: str
) -> None:
    table = registration(stored(tmp_path / "orders"), identifier=identifier)
    with catalog_of(server, **settings).connect() as session, pytest.raises(ExternalError) as refused:
        session.register(table)
    assert refused.value.condition == "TABLE_NOT_REGISTERED"
    assert refused.value.facts["reason"].startswith(reason)


def test_a_renewed_token_counts_at_the_next_connection(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    reference = refer("catalogs.lake.token", "file", str(file), directory=tmp_path, environ={}, location=None)
    with UnityServer(token="second") as server:
        catalog = UnityCatalog(UnityCatalogServer("lake", server.uri, reference), None)
        table = registration(stored(tmp_path / "orders"))
        with pytest.raises(ExternalError) as refused, catalog.connect() as session:
            session.register(table)
        assert refused.value.condition == "CATALOG_NOT_REACHABLE"
        assert "first" not in str(refused.value)
        file.write_text("second")
        with catalog.connect() as session:
            assert session.register(table) == Change(Action.CREATED)
        file.unlink()
        with pytest.raises(ExternalError) as missing, catalog.connect():
            pass
    assert missing.value.condition == "CATALOG_NOT_REACHABLE"


OWN = {"penstock.pipeline": "orders", "penstock.storage": "s"}


def answer(body: bytes, status: str = "200 OK") -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


def metadata(**fields: object) -> bytes:
    return answer(json.dumps({"metadata": {"table-uuid": "u", "etag": "e", **fields}}).encode())


ANSWERS = {
    "a web page": answer(b"<!html>"),
    "a redirect": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
    "no API for Delta": answer(b"", "404 Not Found"),
    "busy": answer(b"", "503 Service Unavailable"),
    "nothing": b"",
    "no HTTP": b"\x80\x01\x00\x02",
    "a list": answer(b"[]"),
    "lists without end": answer(b"[" * 200_000),
    "no metadata": answer(b'{"metadata": 1}'),
    "no columns": metadata(columns=[1], properties=OWN),
    "odd columns": metadata(columns={"fields": [{"a": 1}, 5]}, properties=OWN),
    "odd properties": metadata(properties={"a": 1}),
    "odd location": metadata(location=5, properties=OWN),
}


@pytest.mark.parametrize("content", ANSWERS.values(), ids=ANSWERS)
def test_a_server_that_is_no_unity_catalog_is_a_condition(content: bytes, tmp_path: Path) -> None:
    table = registration(stored(tmp_path / "orders"))
    with answering(content) as port:
        catalog = UnityCatalog(UnityCatalogServer("lake", f"http://127.0.0.1:{port}"), None)
        with pytest.raises(ExternalError) as raised, catalog.connect() as session:
            session.register(table)
    assert raised.value.condition == "CATALOG_NOT_REACHABLE"


def test_names_and_addresses(server: UnityServer) -> None:
    settings = UnityCatalogServer("lake", server.uri, catalog="{catalog}_prod", schema="{schema}")
    assert UnityCatalog(settings, "Main").name_of(ORDERS) == "main_prod.shop.orders"
    assert UnityCatalog(settings, "main").name_of(Identifier("shop", "orders", "Raw")) == "raw_prod.shop.orders"

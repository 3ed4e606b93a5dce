"""Tables of a pipeline in a real Hive Metastore: registered by runs, and read by name by a plain Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import PrimitiveType
from tests.integration.hive_metastore import HiveMetastoreServer
from tests.integration.metastore_proxy import MetastoreProxy
from tests.postgres_server import PostgresServer

from penstock.config import HiveMetastore
from penstock.errors import ExternalError, StateError
from penstock.graph.identifier import Identifier
from penstock.graph.protection import PRIVATE, ROW_FILTER
from penstock.registration.catalog import Action
from penstock.registration.entry import INACTIVE
from penstock.registration.hive.catalog import HiveCatalog
from penstock.registration.hive.metastore import Metastore
from penstock.registration.hive.thrift import Struct
from penstock.registration.table import Owner, TableRegistration, read_registration


@pytest.fixture(scope="module", params=["Derby", "PostgreSQL"])
def metastore(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[HiveMetastoreServer]:
    """A metastore on each of the databases."""
    folder = tmp_path_factory.mktemp("metastore")
    if request.param == "Derby":
        with HiveMetastoreServer(folder) as server:
            yield server
    else:
        with PostgresServer() as database, HiveMetastoreServer.on_postgres(folder, database) as server:
            yield server
            assert database.rows("""SELECT count(*) FROM "TBLS" """) != [(0,)], "they are in this database"


def _catalog(server: HiveMetastoreServer, schema: str = "{schema}") -> HiveCatalog:
    return HiveCatalog(HiveMetastore("warehouse", (("127.0.0.1", server.port),), schema), None)


def _entry(server: HiveMetastoreServer, database: str, name: str) -> Struct | None:
    with Metastore((("127.0.0.1", server.port),)) as client:
        return client.table(database, name)


def _stored(path: Path, *, comment: str | None = None) -> Path:
    write_deltalake(
        path,
        pa.table({"Id": pa.array([1, 2], pa.int64()), "amount": [1.5, 2.5], "tags": [["a"], []]}),
        description=comment,
        configuration={"delta.logRetentionDuration": "interval 60 days"},
    )
    return path


def _registration(identifier: Identifier, path: Path, owner: Owner) -> TableRegistration:
    found = read_registration(identifier, str(path), owner)
    assert found is not None
    return found


def test_a_table_is_created_corrected_marked_and_removed(metastore: HiveMetastoreServer, tmp_path: Path) -> None:
    identifier, owner = Identifier("Life", "Orders"), Owner("orders", str(tmp_path))
    path = _stored(tmp_path / "orders", comment="All orders")
    with _catalog(metastore).connect() as session:
        table = _registration(identifier, path, owner)
        assert session.differences(table) == ("there is no such table",)
        created = session.register(table)
        assert created is not None
        assert created.action is Action.CREATED
        assert session.register(table) is None, "registered again, it is as it was"
        assert session.differences(table) == ()

    entry = _entry(metastore, "life", "orders")
    assert entry is not None
    assert (entry[3], entry[12]) == ("orders", "EXTERNAL_TABLE")
    assert [(column[1], column[2]) for column in entry[7][1]] == [
        ("id", "bigint"),
        ("amount", "double"),
        ("tags", "array<string>"),
    ]
    assert entry[7][7][3]["path"] == f"file:{path}"
    expected = {
        "comment": "All orders",
        "spark.sql.sources.provider": "delta",
        "delta.logRetentionDuration": "interval 60 days",
        "penstock.pipeline": "orders",
        "penstock.storage": str(tmp_path),
    }
    assert expected.items() <= entry[9].items()

    DeltaTable(path).alter.add_columns(Field("city", PrimitiveType("string")))
    with _catalog(metastore).connect() as session:
        changed = session.register(_registration(identifier, path, owner))
        assert changed is not None
        assert changed.action is Action.UPDATED
        assert changed.differences == ("column city is missing",)
        marked = session.deactivate(identifier, owner)
        assert marked is not None
        assert marked.action is Action.DEACTIVATED
        assert session.deactivate(identifier, owner) is None
        inactive = _entry(metastore, "life", "orders")
        assert inactive is not None
        assert INACTIVE in inactive[9]
        again = session.register(_registration(identifier, path, owner))
        assert again is not None
        assert again.action is Action.UPDATED
        active = _entry(metastore, "life", "orders")
        assert active is not None
        assert INACTIVE not in active[9]
        assert session.remove(identifier, owner)
        assert not session.remove(identifier, owner)
    assert _entry(metastore, "life", "orders") is None
    assert (path / "_delta_log").is_dir(), "the entry of an external table takes no files with it"


def test_columns_of_other_types_leave_the_entry_in_its_place(metastore: HiveMetastoreServer, tmp_path: Path) -> None:
    """Hive refuses to alter a column to a type that is not compatible; readers find the table all the time."""
    identifier, owner = Identifier("types", "orders"), Owner("orders", str(tmp_path))
    path = _stored(tmp_path / "orders")
    with _catalog(metastore).connect() as session:
        session.register(_registration(identifier, path, owner))
    entry = _entry(metastore, "types", "orders")
    assert entry is not None
    entry[3], entry[9]["quality"] = "ada", "gold"
    table = Struct({1: 3, 2: "types", 3: "orders"})
    granted = Struct({1: table, 2: "bob", 3: 1, 4: Struct({1: "select", 2: 0, 3: "ada", 4: 1, 5: False})})
    with Metastore((("127.0.0.1", metastore.port),)) as client:
        client.alter_table("types", "orders", entry)
        client._call("grant_privileges", Struct({1: Struct({1: [granted]})}), {1: "MetaException"})

    write_deltalake(path, pa.table({"Id": ["x"], "amount": [True]}), mode="overwrite", schema_mode="overwrite")
    seen = []
    with MetastoreProxy(metastore.port) as proxy:
        proxy.before = lambda _: seen.append(_entry(metastore, "types", "orders"))
        with HiveCatalog(HiveMetastore("warehouse", (("127.0.0.1", proxy.port),)), None).connect() as session:
            changed = session.register(_registration(identifier, path, owner))
    assert changed is not None
    assert changed.action is Action.UPDATED
    after = _entry(metastore, "types", "orders")
    assert after is not None
    assert proxy.calls.count("alter_table") == 3, "refused, without columns, with the new ones"
    assert {(each[3], each[9]["quality"], each[7][7][3]["path"]) for each in [*seen, after] if each is not None} == {
        ("ada", "gold", f"file:{path}")
    }
    assert None not in seen
    assert [(column[1], column[2]) for column in after[7][1]] == [("id", "string"), ("amount", "boolean")]
    with Metastore((("127.0.0.1", metastore.port),)) as client:
        [found] = client._call("list_privileges", Struct({1: "bob", 2: 1, 3: table}), {1: "MetaException"})
    assert found[4][1] == "select"


def test_the_entry_of_another_is_left_as_it_is(metastore: HiveMetastoreServer, tmp_path: Path) -> None:
    identifier = Identifier("taken", "orders")
    theirs, ours = Owner("sales", "/srv/sales"), Owner("orders", str(tmp_path))
    first, second = _stored(tmp_path / "first"), _stored(tmp_path / "second")
    with _catalog(metastore).connect() as session:
        session.register(_registration(identifier, first, theirs))
        before = _entry(metastore, "taken", "orders")
        for act in (session.register, session.differences):
            with pytest.raises(StateError) as refused:
                act(_registration(identifier, second, ours))
            assert refused.value.condition == "TABLE_REGISTERED_BY_ANOTHER"
            assert refused.value.facts["owner"] == "pipeline sales on /srv/sales"
            assert refused.value.facts["their_location"] == f"file:{first}"
            assert refused.value.facts["own"] == f"pipeline orders on {tmp_path}"
        assert session.deactivate(identifier, ours) is None
        assert not session.remove(identifier, ours)
    assert _entry(metastore, "taken", "orders") == before


def test_the_entry_that_a_person_made_of_the_same_table_is_taken_over(
    metastore: HiveMetastoreServer, tmp_path: Path
) -> None:
    identifier, owner = Identifier("adopted", "orders"), Owner("orders", str(tmp_path))
    path = _stored(tmp_path / "orders")
    table = _registration(identifier, path, owner)
    with _catalog(metastore).connect() as session:
        session.register(table)
        entry = _entry(metastore, "adopted", "orders")
        assert entry is not None
        for name in ("penstock.pipeline", "penstock.storage"):
            del entry[9][name]
        entry[3], entry[9]["quality"] = "ada", "gold"
        with Metastore((("127.0.0.1", metastore.port),)) as client:
            client.alter_table("adopted", "orders", entry)
        changed = session.register(table)
        assert changed is not None
        assert changed.action is Action.UPDATED
    adopted = _entry(metastore, "adopted", "orders")
    assert adopted is not None
    assert (adopted[3], adopted[9]["quality"], adopted[9]["penstock.pipeline"]) == ("ada", "gold", "orders")


def test_a_protected_or_private_table_is_not_for_readers_of_its_files(tmp_path: Path) -> None:
    owner = Owner("orders", str(tmp_path))
    for name, value in ((ROW_FILTER, "mine(id)"), (PRIVATE, "true")):
        path = _stored(tmp_path / name)
        assert read_registration(Identifier("a", "orders"), str(path), owner) is not None
        DeltaTable(path).alter.set_table_properties({name: value}, raise_if_not_exists=False)
        assert read_registration(Identifier("a", "orders"), str(path), owner) is None
    assert read_registration(Identifier("a", "none"), str(tmp_path / "none"), owner) is None


def test_a_name_that_hive_does_not_take_is_a_condition(metastore: HiveMetastoreServer, tmp_path: Path) -> None:
    path = _stored(tmp_path / "orders")
    with (
        _catalog(metastore).connect() as session,
        pytest.raises(ExternalError) as refused,
    ):
        session.register(_registration(Identifier("names", "new-orders"), path, Owner("orders", str(tmp_path))))
    assert refused.value.condition == "TABLE_NOT_REGISTERED"
    assert refused.value.facts["table"] == "names.new-orders"

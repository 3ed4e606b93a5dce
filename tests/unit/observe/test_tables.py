"""Reading tables without Spark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, convert_to_deltalake, write_deltalake

from penstock.errors import ConfigError, ExternalError, StateError
from penstock.events.types import Event, EventType, Level, Origin
from penstock.graph.companions.quarantine import quarantine_of
from penstock.graph.identifier import DefaultSchema, Identifier
from penstock.observe.stored.tables import StoredTable, find_companion_table, find_table, list_tables, read_table
from penstock.storage import Storage, StorageLayout
from penstock.storage.delta.table import all_rows, open_delta_table


def write(storage: Path, name: str, rows: int = 3, *, schema: str = "shop", path: str | None = None) -> str:
    uri = path or StorageLayout(str(storage)).table(Identifier(schema, name))
    Path(uri).mkdir(parents=True, exist_ok=True)
    write_deltalake(uri, pa.table({"id": list(range(rows)), "name": [f"n{row}" for row in range(rows)]}), mode="append")
    return uri


def definition(dataset: str, path: str | None, dataset_type: str = "STREAMING_TABLE") -> Event:
    return Event(
        id="1",
        sequence=1,
        timestamp=datetime.now(UTC),
        origin=Origin("p", "u"),
        level=Level.INFO,
        event_type=EventType.DATASET_DEFINITION,
        message="",
        details={"dataset_definition": {"dataset": dataset, "dataset_type": dataset_type, "path": path}},
    )


def test_a_storage_that_does_not_exist_has_no_table(tmp_path: Path) -> None:
    assert list_tables(str(tmp_path / "nothing")) == ()


@pytest.mark.parametrize("name", ["orders", "Orders Of 2026", "ümlaut", "50%"])
@pytest.mark.parametrize("spelling", ["{}", "SHOP.`{}`", "main.shop.`{}`"])
def test_a_table_is_found_by_any_spelling_of_its_name(tmp_path: Path, name: str, spelling: str) -> None:
    write(tmp_path, name)
    found = find_table(str(tmp_path), spelling.format(name), default_schema=DefaultSchema("shop", "Main"))
    assert sorted(read_table(found, limit=10).rows) == [(0, "n0"), (1, "n1"), (2, "n2")]


def test_a_table_of_another_catalog_is_not_that_of_the_storage(tmp_path: Path) -> None:
    write(tmp_path, "orders")
    with pytest.raises(ConfigError) as raised:
        find_table(str(tmp_path), "raw.shop.orders", default_schema=DefaultSchema("shop", "main"))
    assert raised.value.condition == "TABLE_NOT_FOUND"
    assert raised.value.facts["hint"] == "Did you mean 'shop.orders'?"


def test_a_table_whose_data_files_are_missing_is_named_with_the_first_of_them(tmp_path: Path) -> None:
    uri = write(tmp_path, "orders")
    write(tmp_path, "orders")
    files = sorted(Path(uri).glob("*.parquet"))
    for file in files:
        file.unlink()
    with pytest.raises(StateError) as raised:
        read_table(StoredTable(Identifier("shop", "orders"), uri), limit=10)
    assert raised.value.condition == "DATA_FILES_MISSING"
    facts = {"name": "shop.orders", "version": "1", "missing": "2", "total": "2", "file": str(files[0])}
    assert raised.value.facts == facts


def test_folders_that_are_no_tables_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "orders")
    (tmp_path / "tables/shop/half").mkdir()
    (tmp_path / "tables/notes.txt").write_text("x")
    assert [str(table.identifier) for table in list_tables(str(tmp_path))] == ["shop.orders"]


def test_a_table_with_a_path_of_its_own_is_found_through_the_log(tmp_path: Path) -> None:
    uri = write(tmp_path, "orders", path=str(tmp_path / "elsewhere"))
    [table] = list_tables(str(tmp_path / "storage"), [definition("shop.Orders", uri)])
    assert (str(table.identifier), table.uri) == ("shop.Orders", uri)


def test_what_stands_beside_a_table_with_a_path_of_its_own_is_found_with_it(tmp_path: Path) -> None:
    uri = write(tmp_path, "orders", path=str(tmp_path / "elsewhere"))
    for ending in ("__quarantine", "__late"):
        write(tmp_path, "orders", path=f"{uri}{ending}")
    found = list_tables(str(tmp_path / "storage"), [definition("shop.orders", uri)])
    assert [(str(table.identifier), table.uri.removeprefix(uri)) for table in found] == [
        ("shop.orders", ""),
        ("shop.orders__late", "__late"),
        ("shop.orders__quarantine", "__quarantine"),
    ]


def test_a_view_and_a_table_never_written_are_no_tables(tmp_path: Path) -> None:
    events = [definition("shop.v", None, "VIEW"), definition("shop.t", None)]
    assert list_tables(str(tmp_path), events) == ()


def test_a_place_that_does_not_answer_matters_to_its_own_table_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("orders", "orders__quarantine"):
        write(tmp_path, name)
    there = Storage.exists

    def away(self: Storage, location: str = "") -> bool:
        if self.uri.startswith("memory://"):
            raise ExternalError("STORAGE_FAILED", path=self.uri, reason="no answer")
        return there(self, location)

    monkeypatch.setattr(Storage, "exists", away)
    events = [definition("shop.far", "memory://bucket/far"), definition("shop.orders", None)]
    assert find_table(str(tmp_path), "ORDERS", default_schema="shop", events=events).identifier.name == "orders"
    beside = find_companion_table(str(tmp_path), "orders", quarantine_of, default_schema="shop", events=events)
    assert isinstance(beside, StoredTable)
    with pytest.raises(ExternalError, match="STORAGE_FAILED"):
        find_table(str(tmp_path), "far", default_schema="shop", events=events)


def test_an_unknown_table_proposes_the_close_name(tmp_path: Path) -> None:
    write(tmp_path, "silver_orders")
    with pytest.raises(ConfigError) as caught:
        find_table(str(tmp_path), "silver_order", default_schema="shop")
    assert caught.value.condition == "TABLE_NOT_FOUND"
    assert caught.value.facts["name"] == "silver_order"
    assert "'silver_orders'" in caught.value.facts["hint"]


def test_an_unknown_table_lists_what_there_is(tmp_path: Path) -> None:
    write(tmp_path, "orders")
    with pytest.raises(ConfigError) as caught:
        find_table(str(tmp_path), "zzz", default_schema="shop")
    assert "shop.orders" in caught.value.facts["hint"]


def test_limit_says_whether_there_is_more(tmp_path: Path) -> None:
    write(tmp_path, "orders", rows=3)
    table = find_table(str(tmp_path), "orders", default_schema="shop")
    assert (len(read_table(table, limit=2).rows), read_table(table, limit=2).truncated) == (2, True)
    assert (len(read_table(table, limit=3).rows), read_table(table, limit=3).truncated) == (3, False)


def test_an_empty_table_has_columns_and_no_rows(tmp_path: Path) -> None:
    write(tmp_path, "orders", rows=1)
    DeltaTable(StorageLayout(str(tmp_path)).table(Identifier("shop", "orders"))).delete()
    content = read_table(find_table(str(tmp_path), "orders", default_schema="shop"), limit=5)
    assert content.columns == ("id", "name")
    assert content.rows == ()


def test_an_earlier_version_and_time(tmp_path: Path) -> None:
    uri = write(tmp_path, "orders", rows=1)
    first = DeltaTable(uri).history()[0]["timestamp"]
    write(tmp_path, "orders", rows=2)
    table = find_table(str(tmp_path), "orders", default_schema="shop")
    assert len(read_table(table, limit=10).rows) == 3
    assert len(read_table(table, limit=10, version=0).rows) == 1
    moment = datetime.fromtimestamp(first / 1000, tz=UTC)
    assert read_table(table, limit=10, timestamp=moment).version == 0
    assert read_table(table, limit=10, timestamp=moment + timedelta(days=1)).version == 1


def test_rows_can_be_sorted_by_a_column_in_any_case(tmp_path: Path) -> None:
    write(tmp_path, "orders", rows=4)
    table = find_table(str(tmp_path), "orders", default_schema="shop")
    assert [row[0] for row in read_table(table, limit=2, sort="ID", descending=True).rows] == [3, 2]
    assert [row[0] for row in read_table(table, limit=2, sort="name").rows] == [0, 1]


@pytest.mark.parametrize("column", ["nam", 'id" desc; --'])
def test_sorting_by_an_unknown_column_is_refused(tmp_path: Path, column: str) -> None:
    write(tmp_path, "orders")
    with pytest.raises(ConfigError) as caught:
        read_table(find_table(str(tmp_path), "orders", default_schema="shop"), limit=1, sort=column)
    assert caught.value.condition == "COLUMN_NOT_FOUND"
    assert caught.value.facts["column"] == column
    assert "name" in caught.value.facts["hint"]


def test_a_version_that_is_not_there_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "orders")
    with pytest.raises(StateError) as caught:
        read_table(find_table(str(tmp_path), "orders", default_schema="shop"), limit=1, version=9)
    assert caught.value.condition == "TABLE_VERSION_NOT_FOUND"
    assert (caught.value.facts["version"], caught.value.facts["newest"]) == ("9", "0")


def test_a_broken_table_says_so(tmp_path: Path) -> None:
    uri = write(tmp_path, "orders")
    for commit in Path(uri, "_delta_log").glob("*.json"):
        commit.write_text("no json")
    with pytest.raises(StateError) as caught:
        read_table(find_table(str(tmp_path), "orders", default_schema="shop"), limit=1)
    assert caught.value.condition == "TABLE_NOT_READABLE"


def test_times_of_any_year_are_read_right_from_files_with_int96(tmp_path: Path) -> None:
    """As Spark writes them by default, and Penstock did before."""
    moments = [datetime(year, 12, 31, 23, 59, 59, 123456, tzinfo=UTC) for year in (1, 1500, 1676, 2024, 2263, 9999)]
    column = pa.array(moments, pa.timestamp("us", tz="UTC"))
    rows = pa.table({"at": column, "inner": pa.StructArray.from_arrays([column], ["at"])})
    folder = tmp_path / "tables/shop/times"
    folder.mkdir(parents=True)
    pq.write_table(rows, folder / "part.parquet", use_deprecated_int96_timestamps=True)
    assert pq.ParquetFile(folder / "part.parquet").schema.column(0).physical_type == "INT96"
    convert_to_deltalake(folder)
    shown = read_table(StoredTable(Identifier("shop", "times"), str(folder)), limit=10, sort="at")
    assert shown.rows == tuple((moment, {"at": moment}) for moment in moments)
    assert all_rows(open_delta_table(str(folder))).column("at").to_pylist() == moments

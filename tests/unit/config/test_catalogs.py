"""Catalogs of a pipeline file, in which tables are registered."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.config import HiveMetastore, UnityCatalogServer, load_project
from penstock.errors import PenstockError, PipelineInvalid


def write(folder: Path, *lines: str) -> Path:
    (folder / "orders.py").write_text("")
    (folder / "penstock.yml").write_text("\n".join(("name: orders", "catalogs:", "  lake:", *lines)))
    return folder


def test_a_metastore_and_a_unity_catalog(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t0ken\n")
    write(
        tmp_path,
        "    type: unity",
        "    uri: https://unity.example.com/",
        "    catalog: shop",
        "    token: ${file:token}",
        "    ca_file: ca.pem",
        "  warehouse: {type: hive, uri: 'thrift://a,thrift://b:1'}",
    )
    lake, warehouse = load_project(tmp_path).catalogs
    assert isinstance(lake, UnityCatalogServer)
    assert (lake.uri, lake.ca_file) == ("https://unity.example.com", tmp_path / "ca.pem")
    assert lake.place_of("Sales", "Raw") == ("shop", "sales")
    assert lake.token is not None
    assert lake.token.resolve() == "t0ken"
    assert warehouse == HiveMetastore("warehouse", (("a", 9083), ("b", 1)))


@pytest.mark.parametrize(
    ("kind", "uri", "more", "condition", "line"),
    [
        ("hive", "https://a", "", "CONFIG_INVALID_VALUE", 5),
        ("unity", "thrift://a:1", "", "CONFIG_INVALID_VALUE", 5),
        ("unity", "http://a:1", "", "CONFIG_INVALID_VALUE", 5),
        ("unity", "https://a:x", "", "CONFIG_INVALID_VALUE", 5),
        ("unity", "https://me:pw@a", "", "CONFIG_SECRET_LITERAL", 5),
        ("unity", "https://a", "token: abc", "CONFIG_SECRET_LITERAL", 6),
        ("unity", "https://a", "catalog: 'a{table}'", "CONFIG_INVALID_VALUE", 6),
        ("hive", "thrift://a", "catalog: shop", "CONFIG_INVALID_VALUE", 6),
        ("hive", "thrift://a", "token: ${env:A}", "CONFIG_INVALID_VALUE", 6),
        ("glue", "https://a", "", "CATALOG_TYPE_UNSUPPORTED", 4),
        ("spark", "https://a", "", "CATALOG_TYPE_UNSUPPORTED", 4),
    ],
)
def test_what_cannot_be_is_refused_where_it_stands(
    tmp_path: Path, kind: str, uri: str, more: str, condition: str, line: int
) -> None:
    write(tmp_path, f"    type: {kind}", f"    uri: {uri}", f"    {more}")
    with pytest.raises(PenstockError) as raised:
        load_project(tmp_path)
    errors = raised.value.errors if isinstance(raised.value, PipelineInvalid) else [raised.value]
    assert [(error.condition, error.location and error.location.line) for error in errors] == [(condition, line)]


def test_this_machine_may_have_a_server_without_tls(tmp_path: Path) -> None:
    for host in ("localhost", "127.0.0.1", "[::1]"):
        [lake] = load_project(write(tmp_path, "    type: unity", f"    uri: http://{host}:8080")).catalogs
        assert lake.uri == f"http://{host}:8080"

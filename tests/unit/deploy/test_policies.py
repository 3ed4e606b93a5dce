"""Policies of object stores for roles, judged by another reading of their language than ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from moto.iam.access_control import IAMPolicy, PermissionResult
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.deploy.policies import policies
from penstock.errors import ConfigError
from penstock.graph.identifier import Identifier
from penstock.graph.protection import ROW_FILTER
from penstock.storage import StorageLayout

_LAKE = "s3a://lake/orders/tables/shop"


def _allows(document: str) -> Callable[..., bool]:
    def allowed(action: str, resource: str, prefix: str | None = None) -> bool:
        given = {} if prefix is None else {"s3:prefix": prefix}
        found = IAMPolicy({"policy_document": document}).is_action_permitted(action, resource, None, given)
        return bool(found is PermissionResult.PERMITTED)

    return allowed


def test_aws_allows_the_objects_of_the_tables_and_no_others() -> None:
    [file] = policies("s3a://lake/orders", {"analysts": [f"{_LAKE}/orders", "s3://more/people/"]})
    assert file.path == "analysts.json"
    read = _allows(file.text)
    assert read("s3:GetObject", "arn:aws:s3:::lake/orders/tables/shop/orders/_delta_log/00000000000000000000.json")
    assert read("s3:GetObject", "arn:aws:s3:::more/people/part-0.parquet")
    for other in ("lake/orders/tables/shop/orders__quarantine/x", "lake/orders/events/1.jsonl", "more/people2/x"):
        assert not read("s3:GetObject", f"arn:aws:s3:::{other}")
    for action in ("s3:PutObject", "s3:DeleteObject", "s3:GetBucketPolicy"):
        assert not read(action, "arn:aws:s3:::lake/orders/tables/shop/orders/x")
    statements = json.loads(file.text)["Statement"]
    [listing] = [each for each in statements if each["Resource"] == "arn:aws:s3:::lake"]
    assert listing["Action"] == "s3:ListBucket"
    assert listing["Condition"] == {"StringLike": {"s3:prefix": ["orders/tables/shop/orders/*"]}}


def test_azure_has_a_condition_for_each_container() -> None:
    place = "abfss://lake@shop.dfs.core.windows.net/orders/tables/shop"
    one, two = policies("abfss://lake@shop.dfs.core.windows.net/orders", {"a b": [f"{place}/t", "abfss://m@s/x/y"]})
    assert (one.path, two.path) == ("a-b.lake.condition.txt", "a-b.m.condition.txt")
    assert "blobs:path] StringLike 'orders/tables/shop/t/*'" in one.text
    assert "x/y" not in one.text
    assert one.text.count("(") == one.text.count(")")
    assert one.text.count("{") == one.text.count("}")


def test_google_has_a_condition_for_each_bucket() -> None:
    [file] = policies("gs://lake/orders", {"analysts": ["gs://lake/orders/tables/shop/t"]})
    assert file.path == "analysts.lake.condition.json"
    expression = json.loads(file.text)["expression"]
    assert 'resource.name.startsWith("projects/_/buckets/lake/objects/orders/tables/shop/t/")' in expression


@pytest.mark.parametrize(
    ("storage", "table"),
    [("/srv/orders", "/srv/orders/tables/shop/t"), ("hdfs://n/o", "hdfs://n/o/t"), ("s3a://b/o", "s3a://b/o*/t")],
)
def test_what_no_policy_can_say_is_refused(storage: str, table: str) -> None:
    with pytest.raises(ConfigError) as refused:
        policies(storage, {"analysts": [table]})
    assert refused.value.condition == "POLICY_NOT_POSSIBLE"


def test_the_command_writes_what_the_grants_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "penstock.yml").write_text("name: orders\nschema: shop\nroles: {analysts: [ada]}\n")
    layout = StorageLayout(str(tmp_path / ".penstock"))
    for name in ("orders", "people", "open", "customers"):
        write_deltalake(layout.table(Identifier("shop", name)), pa.table({"id": [1]}))
    filtered = DeltaTable(layout.table(Identifier("shop", "customers")))
    filtered.alter.set_table_properties({ROW_FILTER: "mine(id)"}, raise_if_not_exists=False)
    call = CliRunner().invoke

    def as_in_s3(_: str, tables: dict[str, list[str]]) -> object:
        store = "s3a://lake/orders"
        moved = {role: [store + uri.removeprefix(layout.uri) for uri in uris] for role, uris in tables.items()}
        return policies(store, moved)

    monkeypatch.setattr("penstock.deploy.policies.policies", as_in_s3)
    assert "There are no grants" in call(app, ["deploy", "policy", str(tmp_path)]).stderr
    for grant in ("TABLE orders TO analysts", "TABLE customers TO analysts", "TABLE people TO boss"):
        assert call(app, ["sql", f"GRANT SELECT ON {grant}", str(tmp_path)]).exit_code == 0
    done = call(app, ["deploy", "policy", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "Left out, because files show all rows and values: shop.customers" in done.stderr
    folder = tmp_path / "deploy" / "policies"
    assert sorted(each.name for each in folder.iterdir()) == ["analysts.json", "boss.json"]
    analysts, boss = (_allows((folder / name).read_text()) for name in ("analysts.json", "boss.json"))
    readable = {
        name: (analysts("s3:GetObject", key), boss("s3:GetObject", key))
        for name in ("orders", "people", "open", "customers")
        for key in [f"arn:aws:s3:::lake/orders/tables/shop/{name}/x"]
    }
    expected = {"orders": (True, False), "people": (False, True), "open": (True, True), "customers": (False, False)}
    assert readable == expected


def test_a_local_storage_has_no_policy(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("name: orders\n")
    result = CliRunner().invoke(app, ["deploy", "policy", str(tmp_path)])
    assert result.exit_code == 2
    assert "POLICY_NOT_POSSIBLE" in result.stderr

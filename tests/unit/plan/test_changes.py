"""An existing table beside a changed declaration: what is altered, what is refused, what is only reported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from tests.unit.plan.conftest import Pipeline

from penstock.errors import StateError
from penstock.graph.identifier import Identifier
from penstock.graph.schema.table_schema import Schema
from penstock.graph.schema.type_changes import fits, widens
from penstock.plan.changes import TableChanges
from penstock.plan.explain import render_plan
from penstock.plan.stages import AlterTable, RefreshMaterializedView, ResetTable
from penstock.plan.state import CLUSTER_BY

ORDERS = Identifier("shop", "orders")


def _schema(
    required: tuple[str, ...] = (), generated: Mapping[str, str] = MappingProxyType({}), **columns: Any
) -> Schema:
    """Columns by name; a type, or a type and a comment."""
    fields = []
    for name, kind in columns.items():
        plain, comment = kind if isinstance(kind, tuple) else (kind, None)
        metadata = {} if comment is None else {"comment": comment}
        if generated.get(name) == "identity":
            metadata |= {"delta.identity.start": 1, "delta.identity.step": 1}
        elif name in generated:
            metadata["delta.generationExpression"] = generated[name]
        fields.append({"name": name, "type": plain, "nullable": name not in required, "metadata": metadata})
    return Schema(json.dumps({"type": "struct", "fields": fields}))


def _pipeline(pipeline: Pipeline, stored: Schema, wanted: Schema, **state: Any) -> Pipeline:
    pipeline.stream("orders").existing()
    pipeline.stored[ORDERS] = replace(pipeline.stored[ORDERS], schema=stored, **state)
    pipeline.schemas[ORDERS] = wanted
    return pipeline


def _declare(pipeline: Pipeline, **options: Any) -> None:
    pipeline.tables[ORDERS] = replace(pipeline.tables[ORDERS], **options)


def _changes(pipeline: Pipeline) -> TableChanges | None:
    found = pipeline.plan().of_type(AlterTable)
    return found[0].changes if found else None


def _refused(pipeline: Pipeline) -> StateError:
    with pytest.raises(StateError) as error:
        pipeline.plan()
    assert error.value.exit_code == 3
    return error.value


def test_an_unchanged_declaration_changes_nothing(pipeline: Pipeline) -> None:
    stored = _schema(id="long", at="timestamp", note=("string", "free text"))
    assert _changes(_pipeline(pipeline, stored, _schema(ID="integer", at="timestamp", note="string"))) is None


def test_what_alter_table_brings_up_to_date(pipeline: Pipeline) -> None:
    wanted = _schema(id=("long", "the number"), at="timestamp", tags={"type": "array", "elementType": "string"})
    _pipeline(pipeline, _schema(id="long"), wanted)
    _declare(pipeline, comment="All orders", cluster_by=("id",), table_properties={"quality": "gold"})
    changes = _changes(pipeline)
    assert changes == TableChanges(
        columns={"at": ("timestamp", None), "tags": ("array<string>", None)},
        widened={},
        comments={"id": "the number"},
        nullable=(),
        comment="All orders",
        cluster_by=("id",),
        properties={"quality": "gold", CLUSTER_BY: '["id"]'},
    )
    assert changes.describe() == (
        "new columns: at timestamp, tags array<string>; comments of columns: id; comment; clustered by id; "
        "changed properties: quality"
    )
    before = pipeline.stored[ORDERS]
    noted = {**before.properties, **changes.properties}
    pipeline.stored[ORDERS] = replace(before, schema=wanted, comment="All orders", properties=noted)
    assert _changes(pipeline) is None
    _declare(pipeline, comment=None, cluster_by=())
    ended = _changes(pipeline)
    assert ended is not None
    assert (ended.comment, ended.cluster_by, ended.properties) == ("", (), {CLUSTER_BY: "[]"})


def test_a_dropped_column_stays_and_is_reported(pipeline: Pipeline) -> None:
    plan = _pipeline(pipeline, _schema(id="long", old="string"), _schema(id="long", new="string")).plan()
    [notice] = plan.notices
    assert (notice.condition, notice.facts["columns"]) == ("COLUMN_NO_LONGER_FILLED", "old")
    assert notice.dataset == "shop.orders"
    assert notice.facts["command"] == "penstock run --full-refresh shop.orders"
    assert plan.of_type(AlterTable)[0].changes.columns == {"new": ("string", None)}
    assert "COLUMN_NO_LONGER_FILLED" in render_plan(plan)
    assert [each["condition"] for each in plan.to_json()["warnings"]] == ["COLUMN_NO_LONGER_FILLED"]
    assert pipeline.plan(full_refresh=("orders",)).notices == ()


def test_another_type_is_refused_unless_the_column_holds_its_values(pipeline: Pipeline) -> None:
    error = _refused(_pipeline(pipeline, _schema(id="integer"), _schema(id="long")))
    assert (error.condition, error.dataset) == ("COLUMN_TYPE_CHANGED", "shop.orders")
    assert error.facts == {
        "name": "shop.orders",
        "column": "id",
        "stored": "int",
        "wanted": "bigint",
        "way_out": "set table_properties={'delta.enableTypeWidening': 'true'}, ",
        "command": "penstock run --full-refresh shop.orders",
    }
    assert pipeline.plan(full_refresh=("orders",)).of_type(ResetTable)
    _declare(pipeline, table_properties={"delta.enableTypeWidening": "true"})
    changes = _changes(pipeline)
    assert changes is not None
    assert (changes.widened, changes.describe().partition(";")[0]) == ({"id": "bigint"}, "wider types: id bigint")
    pipeline.stream("reader", "orders*").existing("reader")
    changes = _changes(pipeline)
    assert changes is not None
    assert changes.widened == {"id": "bigint"}, "its readers go on"


def test_type_that_widening_cannot_reach_is_refused_without_that_advice(pipeline: Pipeline) -> None:
    error = _refused(_pipeline(pipeline, _schema(id="long"), _schema(id="string")))
    assert (error.facts["way_out"], error.location) == ("", pipeline.tables[ORDERS].location)


def test_other_partitions_need_the_table_computed_again(pipeline: Pipeline) -> None:
    _pipeline(pipeline, _schema(id="long"), _schema(id="long"), partition_columns=("day",))
    facts = _refused(pipeline).facts
    assert (facts["stored"], facts["wanted"]) == ("day", "no column")
    assert facts["command"] == "penstock run --full-refresh shop.orders"
    assert pipeline.plan(full_refresh=("orders",)).of_type(ResetTable)
    _declare(pipeline, partition_columns=("DAY",))
    assert _changes(pipeline) is None


def test_a_materialized_view_takes_new_columns_with_its_refresh(pipeline: Pipeline) -> None:
    pipeline.materialized("orders", "x:y").existing()
    pipeline.stored[ORDERS] = replace(pipeline.stored[ORDERS], schema=_schema(id="string", gone="long"))
    assert (_changes(pipeline), pipeline.plan().notices) == (None, ())
    pipeline.stored[ORDERS] = replace(pipeline.stored[ORDERS], partition_columns=("gone",))
    [emptied] = pipeline.plan().of_type(ResetTable)
    assert emptied.explanation == "emptied, because it is partitioned by other columns now"


def test_not_null_can_end_but_not_begin(pipeline: Pipeline) -> None:
    loose, strict = _schema(id="long"), _schema(required=("id",), id="long")
    changes = _changes(_pipeline(pipeline, strict, loose))
    assert changes is not None
    assert (changes.nullable, changes.describe()) == (("id",), "no longer NOT NULL: id")
    facts = _refused(_pipeline(pipeline, loose, strict)).facts
    assert (facts["column"], facts["wanted"]) == ("id", "NOT NULL")
    facts = _refused(
        _pipeline(pipeline, loose, _schema(id="long", day="date", generated={"day": "CAST(at AS DATE)"}))
    ).facts
    assert (facts["column"], facts["wanted"]) == ("day", "generated as CAST(at AS DATE)")
    facts = _refused(_pipeline(pipeline, _schema(id="long", generated={"id": "x"}), loose)).facts
    assert facts["wanted"] == "a plain column"
    facts = _refused(_pipeline(pipeline, loose, _schema(("id",), {"id": "identity"}, id="long"))).facts
    assert facts["wanted"] == "NOT NULL and an identity"
    assert facts["command"] == "penstock run --full-refresh shop.orders"


def test_a_view_with_other_constraints_is_emptied_first(pipeline: Pipeline) -> None:
    pipeline.materialized("orders", "x:y").existing().refreshed("orders")
    pipeline.schemas[ORDERS] = strict = _schema(required=("id",), id="long")
    plan = pipeline.plan()
    assert plan.of_type(ResetTable)[0].explanation == "emptied, because its declared columns have changed"
    assert plan.of_type(RefreshMaterializedView)[0].last is None, "an emptied view is computed in any case"
    pipeline.stored[ORDERS] = replace(pipeline.stored[ORDERS], schema=strict)
    assert not pipeline.plan().of_type(ResetTable)
    pipeline.schemas[ORDERS] = _schema(id="long")
    assert not pipeline.plan().of_type(ResetTable), "an overwrite takes constraints away"


def test_datasets_that_are_no_longer_declared_are_reported(pipeline: Pipeline) -> None:
    pipeline.stream("orders").undeclared = (Identifier("shop", "odd name"),)
    [notice] = pipeline.plan().notices
    assert (notice.condition, notice.dataset) == ("DATASET_NOT_DECLARED", "shop.odd name")
    assert notice.fix.endswith("penstock drop 'shop.odd name'")


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        ("byte", "long"),
        ("float", "double"),
        ("integer", "double"),
        ("date", "timestamp_ntz"),
        ("decimal(10,2)", "decimal(12,3)"),
        ("integer", "decimal(12,2)"),
        ("integer", "decimal(10,0)"),
    ],
)
def test_widening(stored: str, wanted: str) -> None:
    assert widens(stored, wanted)
    assert fits(stored, wanted), "and the values of the narrower type fit into the wider one"
    assert not widens(wanted, stored)
    assert not fits(wanted, stored)


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [("long", "double"), ("long", "string"), ("decimal(10,2)", "decimal(10,3)"), ("integer", "decimal(10,2)")],
)
def test_what_is_no_widening(stored: str, wanted: str) -> None:
    assert not widens(stored, wanted)
    assert not fits(stored, wanted)


def test_what_fits_and_is_no_widening_of_delta() -> None:
    for small in ("byte", "short"):
        assert fits(small, "decimal(6,0)")
        assert not widens(small, "decimal(6,0)")
        assert widens(small, "decimal(10,0)")


def test_nested_types() -> None:
    def struct(**fields: Any) -> Mapping[str, Any]:
        return json.loads(_schema(**fields).json)  # type: ignore[no-any-return]

    assert fits(struct(a="integer", new="string"), struct(A="long", gone="date"))
    assert not fits(struct(a="string"), struct(a="long"))
    array = {"type": "array", "elementType": "long", "containsNull": True}
    assert fits({**array, "containsNull": False}, array)
    assert not fits({**array, "elementType": "string"}, array)
    pairs = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}
    assert fits({**pairs, "valueType": "integer"}, pairs)
    assert not fits(pairs, "string")
    assert not widens(array, "string")
    assert fits("varchar(10)", "string")
    assert fits("void", array)

from __future__ import annotations

from tests.unit.observe.story import Story

from penstock.events import EventType, builders
from penstock.graph.schema.column_lineage import ColumnLineage, InputColumn, OutputColumn, Transformation
from penstock.observe.column_lineage import ColumnOrigin, ColumnUse, origins_of, readers_of, rows_of
from penstock.observe.flows.definitions import FlowDefinition, FlowDefinitionProjection

SAME, SUM = (Transformation.IDENTITY,), (Transformation.AGGREGATION,)


def _flow(name: str, lineage: ColumnLineage | None, dataset: str = "shop.all") -> FlowDefinition:
    return FlowDefinition(dataset, name, lineage=lineage)


def _copy(read: str, *columns: str, left_out: int = 0) -> ColumnLineage:
    outputs = (OutputColumn(column, (InputColumn(read, column, SAME),)) for column in columns)
    return ColumnLineage(tuple(outputs), (InputColumn(read, "x", (Transformation.FILTER,)),), left_out=left_out)


def test_several_flows_into_one_table() -> None:
    total = OutputColumn("A", (InputColumn("shop.one", "a", SUM),), resolved=False)
    flows = [_flow("one", _copy("shop.one", "a", "b")), _flow("two", _copy("kafka orders", "b")), _flow("three", None)]
    assert origins_of(["a", "b", "c"], flows) == {}, "of the third, an older version told nothing"
    flows[2] = _flow("three", ColumnLineage((total,)))
    assert origins_of(["a", "b", "c"], flows) == {
        "a": ColumnOrigin((ColumnUse("shop.one", "a", ("IDENTITY", "AGGREGATION")),), resolved=False),
        "b": ColumnOrigin(
            (ColumnUse("shop.one", "b", ("IDENTITY",)), ColumnUse("kafka orders", "b", ("IDENTITY",))), resolved=True
        ),
        "c": ColumnOrigin((), resolved=False),
    }
    assert [use.dataset for use in rows_of(flows).inputs] == ["shop.one", "kafka orders"]
    assert origins_of([], []) == {}


def test_a_column_that_a_wide_flow_may_have_as_well() -> None:
    flows = [_flow("one", _copy("shop.one", "a", "b")), _flow("two", _copy("shop.two", "b", left_out=1))]
    assert {name: origin.resolved for name, origin in origins_of(["a", "b"], flows).items()} == {"a": False, "b": True}


def test_who_reads_a_column() -> None:
    flows = [
        _flow("one", _copy("SHOP.orders", "a", "b")),
        _flow("two", _copy("shop.orders", "A")),
        _flow("three", _copy("shop.other", "a")),
        _flow("four", None),
    ]
    assert readers_of("shop.orders", flows) == {
        "a": (ColumnUse("shop.all", "a", ("IDENTITY",)), ColumnUse("shop.all", "A", ("IDENTITY",))),
        "b": (ColumnUse("shop.all", "b", ("IDENTITY",)),),
    }


def test_flows_that_the_newest_update_no_longer_has() -> None:
    story = Story()
    for update, flows in (("first", ("one", "two")), ("second", ("two",))):
        story.update(update)
        for flow in flows:
            built = builders.flow_definition(
                flow, output_dataset="shop.t", flow_type="append", lineage=_copy("a", flow)
            )
            story.say(EventType.FLOW_DEFINITION, built, dataset="shop.t", flow=flow)
    projection = FlowDefinitionProjection()
    for event in story.events:
        projection.take(event, None)
    assert [flow.flow for flow in projection.declared()] == ["two"]
    assert [flow.flow for flow in projection.of("shop.t")] == ["one", "two"]
    assert projection.declared()[0].lineage == _copy("a", "two")

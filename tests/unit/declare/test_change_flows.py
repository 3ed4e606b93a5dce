"""What change flows record of their arguments, in all three spellings."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.declare.conftest import Load

from penstock.declare import PipelineRegistry
from penstock.graph.elements import ALL_COLUMNS, ChangeFlow, ColumnSelection, SnapshotChangeFlow

IMPORTS = ("import penstock as api", "import dlt as api", "from pyspark import pipelines as api")
CHANGES = ("create_auto_cdc_flow", "apply_changes")
SNAPSHOTS = ("create_auto_cdc_from_snapshot_flow", "apply_changes_from_snapshot")

PARAMETERS = [
    ("flow_name='f'", "name", "f"),
    ("name='f'", "name", "f"),
    ("where='day > 1'", "where", "day > 1"),
    ("stored_as_scd_type=2", "scd_type", 2),
    ("stored_as_scd_type='2'", "scd_type", 2),
    ("stored_as_scd_type='1'", "scd_type", 1),
    ("apply_as_deletes=\"op = 'D'\"", "apply_as_deletes", "op = 'D'"),
    ("apply_as_truncates=\"op = 'T'\"", "apply_as_truncates", "op = 'T'"),
    ("ignore_null_updates=True", "ignore_null_updates", ALL_COLUMNS),
    ("ignore_null_updates=False", "ignore_null_updates", None),
    ("ignore_null_updates_column_list=['a']", "ignore_null_updates", ColumnSelection(("a",))),
    ("ignore_null_updates_except_column_list=['a']", "ignore_null_updates", ColumnSelection(("a",), excluded=True)),
    ("column_list=['id', 'a']", "columns", ColumnSelection(("id", "a"))),
    ("except_column_list=['at']", "columns", ColumnSelection(("at",), excluded=True)),
    ("stored_as_scd_type=2, track_history_column_list=['a']", "track_history", ColumnSelection(("a",))),
    (
        "stored_as_scd_type=2, track_history_except_column_list=['a']",
        "track_history",
        ColumnSelection(("a",), excluded=True),
    ),
    ("once=True", "once", True),
    ("columns_to_update='names'", "columns_to_update", "names"),
    ("columns_to_update=None, system_sequence_by=None", "columns_to_update", None),
    ("comment='c'", "comment", "c"),
    ("spark_conf={'k': 1}", "spark_conf", {"k": "1"}),
]


def only_flow(registry: PipelineRegistry) -> Any:
    assert [error.condition for error in registry.errors] == []
    (flow,) = registry.flows
    return flow


@pytest.mark.parametrize("imported", IMPORTS)
@pytest.mark.parametrize("function", CHANGES)
def test_a_change_flow_is_named_like_its_target(load: Load, imported: str, function: str) -> None:
    written = f"api.{function}(target='shop.t', source='s', keys=('id', 'part'), sequence_by='at')"
    flow = only_flow(load(f"{imported}\nassert {written} is None\n"))
    assert isinstance(flow, ChangeFlow)
    assert (flow.name, str(flow.target), str(flow.location)) == ("t", "shop.t", "pipeline.py:2")
    assert (flow.keys, flow.sequence_by, flow.scd_type, flow.once) == (("id", "part"), "at", 1, False)


@pytest.mark.parametrize("function", CHANGES)
@pytest.mark.parametrize(("written", "field", "expected"), PARAMETERS)
def test_parameters_of_a_change_flow(load: Load, function: str, written: str, field: str, expected: Any) -> None:
    flow = only_flow(load(f"import dlt\ndlt.{function}('t', 's', ['id'], 'at', {written})\n"))
    assert getattr(flow, field) == expected


@pytest.mark.parametrize("imported", IMPORTS)
@pytest.mark.parametrize("function", SNAPSHOTS)
def test_a_snapshot_flow_over_a_name(load: Load, imported: str, function: str) -> None:
    options = "track_history_column_list=['a'], name='f', comment='c', spark_conf={'k': True}"
    flow = only_flow(load(f"{imported}\napi.{function}('t', 's', ['id'], 2, {options})\n"))
    assert isinstance(flow, SnapshotChangeFlow)
    assert (flow.name, flow.keys, flow.scd_type, flow.next_snapshot) == ("f", ("id",), 2, None)
    assert (str(flow.target), flow.comment, flow.spark_conf) == ("default.t", "c", {"k": "true"})
    assert flow.track_history == ColumnSelection(("a",))


@pytest.mark.parametrize("parameter", ["source", "snapshot_and_version"])
def test_a_snapshot_flow_over_a_function(load: Load, parameter: str) -> None:
    flow = only_flow(
        load(f"""
        import dlt

        def following(latest):
            return None if latest == 3 else (f"frame {{latest}}", (latest or 0) + 1)

        dlt.apply_changes_from_snapshot("t", keys=["id"], {parameter}=following)
        """)
    )
    assert flow.scd_type == 1
    assert flow.next_snapshot(2) == ("frame 2", 3)
    assert flow.next_snapshot(3) is None
    assert flow.function() == "frame None"


def test_a_single_snapshot_is_taken_once(load: Load) -> None:
    flow = only_flow(load("import dlt\ndlt.apply_changes_from_snapshot('t', ('frame', 5), ['id'], 1)\n"))
    assert [flow.next_snapshot(latest) for latest in (None, 4, 5)] == [("frame", 5), ("frame", 5), None]


@pytest.mark.parametrize(
    ("call", "condition", "facts"),
    [
        ("apply_changes('t', 's', ['id'])", "MISSING_PARAMETER", {"parameter": "sequence_by"}),
        ("apply_changes('t', 1, ['id'], 'at')", "INVALID_PARAMETER", {"parameter": "source"}),
        ("apply_changes('t', 's', 'id', 'at')", "INVALID_PARAMETER", {"parameter": "keys", "got": "str"}),
        ("apply_changes('t', 's', ['id'], 'at', stored_as_scd_type=3)", "INVALID_PARAMETER", {"expected": "1 or 2"}),
        ("apply_changes('t', 's', ['id'], 'at', columns_to_update=['c'])", "INVALID_PARAMETER", {"got": "list of str"}),
        ("apply_changes('t', 's', ['id'], 'at', system_sequence_by='c')", "UNSUPPORTED_PARAMETER", {}),
        (
            "apply_changes('t', 's', ['id'], 'at', column_list=['a'], except_column_list=['b'])",
            "AUTOCDC_BOTH_COLUMN_LIST_AND_EXCEPT_COLUMN_LIST",
            {"parameter": "column_list", "other": "except_column_list"},
        ),
        ("apply_changes_from_snapshot('t', keys=['id'])", "MISSING_PARAMETER", {"parameter": "source"}),
        ("apply_changes_from_snapshot('t', 's')", "MISSING_PARAMETER", {"parameter": "keys"}),
        (
            "apply_changes_from_snapshot('t', 's', ['id'], snapshot_and_version=print)",
            "INVALID_PARAMETER",
            {"parameter": "snapshot_and_version", "expected": "nothing, because source is given"},
        ),
        ("apply_changes_from_snapshot('t', 7, ['id'])", "INVALID_PARAMETER", {"parameter": "source", "got": "int"}),
    ],
)
def test_wrong_arguments(load: Load, call: str, condition: str, facts: dict[str, str]) -> None:
    registry = load(f"import dlt\ndlt.{call}\n")
    errors = [error for error in registry.errors if error.condition == condition]
    assert len(errors) == 1
    assert [error.condition for error in registry.errors] == [condition]
    assert facts.items() <= errors[0].facts.items()

"""Each name and parameter of the DLT and `pyspark.pipelines` APIs that is accepted, and what it declares."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pytest
from tests.unit.declare.conftest import Load

from penstock.declare import SPELLINGS
from penstock.graph.elements import (
    LikelyStreamingTable,
    MaterializedView,
    OnViolation,
    OutputMode,
    StreamingTable,
    Table,
    TemporaryView,
    UndecidedTable,
    UniqueKey,
)

IMPORTS = MappingProxyType(
    {
        "penstock": "import penstock as api",
        "dlt": "import dlt as api",
        "pyspark.pipelines": "from pyspark import pipelines as api",
    }
)
SETTINGS = ("{'a': 'b'}", {"a": "b"})

# parameter -> (a good value as the user writes it, the field that it fills, what the field holds)
TABLE_PARAMETERS: dict[str, tuple[str, str, Any]] = {
    "comment": ("'words'", "comment", "words"),
    "spark_conf": ("{'a': 'b', 'on': True, 'n': 3}", "spark_conf", {"a": "b", "on": "true", "n": "3"}),
    "table_properties": (SETTINGS[0], "table_properties", SETTINGS[1]),
    "partition_cols": ("['day']", "partition_columns", ("day",)),
    "path": ("'/data/t'", "path", "/data/t"),
    "schema": ("'a INT, b STRING GENERATED ALWAYS AS (a)'", "schema", "a INT, b STRING GENERATED ALWAYS AS (a)"),
    "temporary": ("True", "temporary", True),
    "private": ("True", "temporary", True),
    "cluster_by": ("('a', 'b')", "cluster_by", ("a", "b")),
    "cluster_by_auto": ("False", "cluster_by", ()),
    "format": ("'delta'", "format", "delta"),
    "output_mode": ("'UPDATE'", "output_mode", OutputMode.UPDATE),
    "keys": ("['a', 'b']", "keys", ("a", "b")),
}
QUERY_TABLE_PARAMETERS = TABLE_PARAMETERS | {"refresh_policy": ("'auto'", "temporary", False)}
VIEW_PARAMETERS = {name: TABLE_PARAMETERS[name] for name in ("comment", "spark_conf")}

TABLE_KINDS: dict[tuple[str, str], type[Table]] = {
    ("penstock", "table"): UndecidedTable,
    ("dlt", "table"): UndecidedTable,
    ("pyspark.pipelines", "table"): LikelyStreamingTable,
    **{(spelling, "create_table"): UndecidedTable for spelling in SPELLINGS},
    **{(spelling, "materialized_view"): MaterializedView for spelling in SPELLINGS},
}
VIEWS = ("view", "create_view", "temporary_view")
TARGETS = ("create_streaming_table", "create_target_table", "create_streaming_live_table")
EXPECTATIONS = {
    "expect": OnViolation.WARN,
    "expect_or_drop": OnViolation.DROP,
    "expect_or_fail": OnViolation.FAIL,
    "expect_all": OnViolation.WARN,
    "expect_all_or_drop": OnViolation.DROP,
    "expect_all_or_fail": OnViolation.FAIL,
    "expect_or_quarantine": OnViolation.QUARANTINE,
    "expect_all_or_quarantine": OnViolation.QUARANTINE,
}


def test_the_tables_below_cover_every_name() -> None:
    covered = {name for _, name in TABLE_KINDS} | {*VIEWS, *TARGETS, *EXPECTATIONS}
    covered |= {"apply_changes", "create_auto_cdc_flow"}
    covered |= {"apply_changes_from_snapshot", "create_auto_cdc_from_snapshot_flow"}
    covered |= {"append_flow", "update_flow", "create_sink", "foreach_batch_sink", "on_event_hook"}
    covered |= {"expect_unique", "expect_event_time"}
    covered |= {"read", "read_stream", "readStream", "enable_local_execution"}
    for names in SPELLINGS.values():
        assert set(names) == covered


@pytest.mark.parametrize(("spelling", "name"), TABLE_KINDS)
@pytest.mark.parametrize("used", ["api.{name}", "api.{name}()", "api.{name}(comment=None, schema=None)"])
def test_table_decorators_bare_and_called(load: Load, spelling: str, name: str, used: str) -> None:
    registry = load(f"{IMPORTS[spelling]}\n@{used.format(name=name)}\ndef orders(): return 7\n")
    assert registry.errors == ()
    (dataset,) = registry.datasets
    (flow,) = registry.flows
    assert type(dataset) is TABLE_KINDS[spelling, name]
    assert str(dataset.identifier) == "default.orders"
    assert (flow.name, flow.target, flow.location) == ("orders", dataset.identifier, dataset.location)
    assert flow.function() == 7


@pytest.mark.parametrize(("spelling", "name"), TABLE_KINDS)
def test_table_parameters(load: Load, spelling: str, name: str) -> None:
    tables = [
        f"@api.{name}(name='shop.{parameter}', {parameter}={written})\ndef f(): ...\n"
        for parameter, (written, _, _) in QUERY_TABLE_PARAMETERS.items()
    ]
    registry = load("\n".join([IMPORTS[spelling], *tables]))
    assert registry.errors == ()
    for dataset, (parameter, (_, field, expected)) in zip(
        registry.datasets, QUERY_TABLE_PARAMETERS.items(), strict=True
    ):
        assert getattr(dataset, field) == expected, parameter
        assert str(dataset.identifier) == f"shop.{parameter}"


@pytest.mark.parametrize("spelling", IMPORTS)
@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("parameter", VIEW_PARAMETERS)
def test_view_parameters(load: Load, spelling: str, name: str, parameter: str) -> None:
    written, field, expected = VIEW_PARAMETERS[parameter]
    registry = load(f"{IMPORTS[spelling]}\n@api.{name}(name='v', {parameter}={written})\ndef f(): return 1\n")
    assert registry.errors == ()
    (dataset,) = registry.datasets
    assert isinstance(dataset, TemporaryView)
    assert getattr(dataset, field) == expected
    assert dataset.function() == 1
    assert registry.flows == ()


@pytest.mark.parametrize("spelling", IMPORTS)
@pytest.mark.parametrize("name", TARGETS)
def test_streaming_table_parameters(load: Load, spelling: str, name: str) -> None:
    tables = [
        f"api.{name}('{parameter}', {parameter}={written})" for parameter, (written, _, _) in TABLE_PARAMETERS.items()
    ]
    registry = load("\n".join([IMPORTS[spelling], *tables]))
    assert registry.errors == ()
    for dataset, (parameter, (_, field, expected)) in zip(registry.datasets, TABLE_PARAMETERS.items(), strict=True):
        assert type(dataset) is StreamingTable
        assert getattr(dataset, field) == expected, parameter
    assert registry.flows == ()


@pytest.mark.parametrize("spelling", IMPORTS)
def test_streaming_table_expectations(load: Load, spelling: str) -> None:
    registry = load(
        f"{IMPORTS[spelling]}\napi.create_streaming_table(name='t', expect_all={{'w 1': 'a > 1'}},"
        " expect_all_or_drop={'d': 'b > 1'}, expect_all_or_fail={'f': 'c > 1'},"
        " expect_all_or_quarantine={'q': 'd > 1'})\n"
    )
    assert registry.errors == ()
    assert [(e.name, e.constraint, e.on_violation) for e in registry.datasets[0].expectations] == [
        ("w 1", "a > 1", OnViolation.WARN),
        ("d", "b > 1", OnViolation.DROP),
        ("f", "c > 1", OnViolation.FAIL),
        ("q", "d > 1", OnViolation.QUARANTINE),
    ]


@pytest.mark.parametrize("spelling", IMPORTS)
@pytest.mark.parametrize(
    ("written", "name", "once"),
    [
        ("target='t'", "backfill", False),
        ("target='t', name='n', comment='c', spark_conf={'a': 1}, once=True", "n", True),
        ("'n', 't'", "n", False),
    ],
)
def test_append_flow(load: Load, spelling: str, written: str, name: str, once: bool) -> None:
    registry = load(f"{IMPORTS[spelling]}\n@api.append_flow({written})\ndef backfill(): return 5\n")
    assert registry.errors == ()
    (flow,) = registry.flows
    assert (flow.name, str(flow.target), flow.once) == (name, "default.t", once)
    assert (flow.comment, dict(flow.spark_conf)) == (("c", {"a": "1"}) if once else (None, {}))
    assert flow.function() == 5
    assert registry.datasets == ()


@pytest.mark.parametrize("spelling", IMPORTS)
@pytest.mark.parametrize(
    ("written", "name", "columns", "action"),
    [
        ("'id'", "unique id", ("id",), OnViolation.WARN),
        ("['id', 'line'], action='drop'", "unique id, line", ("id", "line"), OnViolation.DROP),
        ("keys=('id',), name='once', action='quarantine'", "once", ("id",), OnViolation.QUARANTINE),
        ("'id', 'once', 'fail'", "once", ("id",), OnViolation.FAIL),
    ],
)
def test_uniqueness(
    load: Load, spelling: str, written: str, name: str, columns: tuple[str, ...], action: OnViolation
) -> None:
    registry = load(f"{IMPORTS[spelling]}\n@api.expect_unique({written})\n@api.table\ndef f(): ...\n")
    assert registry.errors == ()
    (expectation,) = registry.datasets[0].expectations
    assert (expectation.name, expectation.on_violation) == (name, action)
    assert expectation.constraint == UniqueKey(columns)


@pytest.mark.parametrize("spelling", IMPORTS)
@pytest.mark.parametrize(
    ("written", "name", "seconds", "action"),
    [
        ("'at'", "at at most 1 hour ahead", "3600", OnViolation.QUARANTINE),
        ("'at', max_future='1 day 2 hours'", "at at most 1 day 2 hours ahead", "93600", OnViolation.QUARANTINE),
        ("column='at', max_future='0.5 seconds', name='n', action='drop'", "n", "0.5", OnViolation.DROP),
        ("'at', '0 minutes', 'n', 'fail'", "n", "0", OnViolation.FAIL),
    ],
)
def test_event_time(load: Load, spelling: str, written: str, name: str, seconds: str, action: OnViolation) -> None:
    registry = load(f"{IMPORTS[spelling]}\n@api.expect_event_time({written})\n@api.table\ndef f(): ...\n")
    assert registry.errors == ()
    (expectation,) = registry.datasets[0].expectations
    assert (expectation.name, expectation.on_violation) == (name, action)
    assert str(expectation.constraint) == f"`at` <= current_timestamp() + INTERVAL {seconds} SECONDS"


@pytest.mark.parametrize(
    ("max_future", "suggestion"),
    [("-1 hour", ""), ("soon", ""), ("", ""), ("1 h", "Did you mean '1 hours'?"), ("1 month", "")],
)
def test_event_time_without_a_length(load: Load, max_future: str, suggestion: str) -> None:
    registry = load(f"import dlt\n@dlt.table\n@dlt.expect_event_time('at', {max_future!r})\ndef f(): ...\n")
    (error,) = registry.errors
    assert (error.condition, dict(error.facts)) == (
        "INVALID_INTERVAL",
        {"interval": max_future, "suggestion": suggestion},
    )
    assert str(error.location) == "pipeline.py:3"


@pytest.mark.parametrize("spelling", IMPORTS)
@pytest.mark.parametrize("name", EXPECTATIONS)
def test_expectations_above_and_below(load: Load, spelling: str, name: str) -> None:
    arguments = "{'a name': 'x > 0'}" if "_all" in name else "'a name', 'x > 0'"
    rule, lines = f"@api.{name}({arguments})", [IMPORTS[spelling]]
    places = []
    for decorator in ("@api.table", "@api.table(comment='c')", "@api.view", "@api.temporary_view()"):
        lines += [rule, decorator, f"def above_{len(lines)}(): ..."]
        places.append(len(lines) - 2)
        lines += [decorator, rule, f"def below_{len(lines)}(): ..."]
        places.append(len(lines) - 1)
    registry = load("\n".join(lines))
    assert registry.errors == ()
    for dataset, line in zip(registry.datasets, places, strict=True):
        (expectation,) = dataset.expectations
        assert (expectation.name, expectation.constraint) == ("a name", "x > 0")
        assert expectation.on_violation is EXPECTATIONS[name]
        assert str(expectation.location) == f"pipeline.py:{line}"


@dataclass
class Names:
    spelling: str
    names: set[str]


PUBLISHED = [
    Names(
        "pyspark.pipelines",
        {
            "append_flow",
            "create_auto_cdc_flow",
            "create_streaming_table",
            "materialized_view",
            "table",
            "temporary_view",
            "create_sink",
        },
    ),
    Names(
        "dlt",
        {"table", "view", "create_table", "create_view", "append_flow", "apply_changes", "on_event_hook", "readStream"},
    ),
]


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda published: published.spelling)
def test_star_imports_bring_the_published_names(load: Load, published: Names) -> None:
    missing = f"missing = {sorted(published.names)!r} and set({sorted(published.names)!r}) - set(globals())"
    registry = load(f"from {published.spelling} import *\n{missing}\nassert not missing, missing\n")
    assert registry.errors == ()

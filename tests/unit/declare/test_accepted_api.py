"""Every name and parameter of the DLT and `pyspark.pipelines` APIs: accepted as it should be, or refused by name."""

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


@pytest.mark.parametrize(
    ("function", "written", "parameter"),
    [
        (function, written, written.partition("=")[0])
        for function in ("table(", "materialized_view(", "create_streaming_table('t', ")
        for written in ("format='parquet'",)
    ],
)
def test_refused_parameters(load: Load, function: str, written: str, parameter: str) -> None:
    prefix, suffix = ("", "") if function.startswith("create") else ("@", "\ndef t(): ...")
    registry = load(f"import dlt\n{prefix}dlt.{function}{written}){suffix}\n")
    (error,) = registry.errors
    assert error.condition == "UNSUPPORTED_PARAMETER"
    assert error.facts["name"] == parameter
    assert error.facts["function"] == function.partition("(")[0]
    assert error.facts["reason"]
    assert error.facts["alternative"]
    assert len(registry.datasets) == 1, "the rest of the declaration stays, so that its readers are not reported too"


@pytest.mark.parametrize(
    ("function", "written"),
    [
        ("table(", "cluster_by_auto=True"),
        ("create_streaming_table('t', ", "cluster_by_auto=True"),
        ("materialized_view(", "refresh_policy='incremental_strict'"),
    ],
)
def test_parameters_that_change_no_row_have_a_notice(load: Load, function: str, written: str) -> None:
    prefix, suffix = ("", "") if function.startswith("create") else ("@", "\ndef t(): ...")
    registry = load(f"import dlt\n{prefix}dlt.{function}{written}){suffix}\n")
    assert registry.errors == ()
    (notice,) = registry.notices
    assert (notice.condition, str(notice.location)) == ("DECLARATION_WITHOUT_EFFECT", "pipeline.py:2")
    assert notice.facts["name"] == f"{written.partition('=')[0]} of {function.partition('(')[0]}"
    assert len(registry.datasets) == 1


WRONG = {
    "name": ("5", "int"),
    "comment": ("['x']", "list of str"),
    "spark_conf": ("'a=b'", "str"),
    "table_properties": ("{'a': ['b']}", "dict of str to list"),
    "partition_cols": ("'day'", "str"),
    "path": ("''", "an empty str"),
    "schema": ("{'a': 'int'}", "dict of str to str"),
    "temporary": ("'yes'", "str"),
    "private": ("1", "int"),
    "cluster_by": ("[1, 'a']", "list of int, str"),
    "cluster_by_auto": ("'auto'", "str"),
    "row_filter": ("print", "a function"),
    "format": ("0", "int"),
    "refresh_policy": ("True", "bool"),
    "output_mode": ("'upsert'", "str"),
    "keys": ("'a'", "str"),
}


@pytest.mark.parametrize("name", ["table", "create_table", "materialized_view"])
def test_wrong_types_of_table_parameters(load: Load, name: str) -> None:
    tables = [
        f"@ps.{name}({parameter}={written})\ndef of_{parameter}(): ..." for parameter, (written, _) in WRONG.items()
    ]
    registry = load("\n".join(["import penstock as ps", *tables]))
    for number, (error, (parameter, (_, got))) in enumerate(zip(registry.errors, WRONG.items(), strict=True)):
        assert error.condition == "INVALID_PARAMETER"
        assert error.facts["function"] == name
        assert (error.facts["parameter"], error.facts["got"]) == (parameter, got)
        assert str(error.location) == f"pipeline.py:{2 + 2 * number}"
    assert [str(dataset.identifier) for dataset in registry.datasets] == [f"default.of_{each}" for each in WRONG]


@pytest.mark.parametrize(
    ("written", "parameter", "got"),
    [
        ("create_streaming_table(5)", "name", "int"),
        ("create_streaming_table(name=None)", "name", "NoneType"),
        ("create_streaming_table('t', expect_all=['a > 1'])", "expect_all", "list of str"),
        ("create_streaming_table('t', expect_all_or_drop={'a': 1})", "expect_all_or_drop", "dict of str to int"),
        ("create_streaming_table('t', expect_all_or_fail={'': 'a'})", "expect_all_or_fail", "dict of str to str"),
        ("append_flow(target='t', once='no')", "once", "str"),
        ("append_flow(target='t', name='')", "name", "an empty str"),
        ("view(comment=3)", "comment", "int"),
        ("table('t')", "query_function", "str"),
        ("expect('n', 3)", "inv", "int"),
        ("expect(None, 'a')", "name", "NoneType"),
        ("expect_all('a > 1')", "expectations", "str"),
        ("expect_or_drop('n', '')", "inv", "an empty str"),
        ("expect_unique([])", "keys", "empty list"),
        ("expect_unique(['id', ''])", "keys", "list of str"),
        ("expect_unique(3)", "keys", "int"),
        ("expect_unique('id', action='keep')", "action", "str"),
        ("expect_unique('id', action=['warn'])", "action", "list of str"),
        ("expect_event_time('')", "column", "an empty str"),
        ("expect_event_time('at', 3600)", "max_future", "int"),
        ("expect_event_time('at', action='keep')", "action", "str"),
        ("expect_all_or_quarantine({'a': None})", "expectations", "dict of str to NoneType"),
        (
            "table(None, 't', *[None] * 6, False, None, None, False, False, *[None] * 4, 1)",
            "positional argument",
            "int",
        ),
    ],
)
def test_wrong_types_elsewhere(load: Load, written: str, parameter: str, got: str) -> None:
    registry = load(f"import dlt\ndlt.{written}\n")
    (error,) = registry.errors
    assert error.condition == "INVALID_PARAMETER"
    assert (error.facts["parameter"], error.facts["got"]) == (parameter, got)
    assert error.facts["expected"]


@pytest.mark.parametrize(
    ("written", "parameter", "suggestion"),
    [
        ("table(coment='x')", "coment", "Did you mean 'comment'?"),
        ("view(path='x')", "path", ""),
        ("create_streaming_table('t', tbl_properties={})", "tbl_properties", "Did you mean 'table_properties'?"),
        ("append_flow(targets='t', target='t')", "targets", "Did you mean 'target'?"),
        ("expect_all(expectation={}, expectations={'a': 'b'})", "expectation", "Did you mean 'expectations'?"),
    ],
)
def test_unknown_parameters(load: Load, written: str, parameter: str, suggestion: str) -> None:
    registry = load(f"import dlt\ndlt.{written}\n")
    (error,) = registry.errors
    assert error.condition == "UNKNOWN_PARAMETER"
    assert (error.facts["parameter"], error.facts["suggestion"]) == (parameter, suggestion)


@pytest.mark.parametrize(
    ("written", "parameter"),
    [
        ("@dlt.append_flow(name='n')\ndef f(): ...", "target"),
        ("@dlt.append_flow\ndef f(): ...", "target"),
        ("dlt.create_streaming_table()", "name"),
        ("@dlt.expect('n')\ndef f(): ...", "inv"),
        ("@dlt.expect_all()\ndef f(): ...", "expectations"),
        ("dlt.table(lambda: 1)", "name"),
    ],
)
def test_missing_parameters(load: Load, written: str, parameter: str) -> None:
    registry = load(f"import dlt\n{written}\n")
    assert [(error.condition, error.facts["parameter"]) for error in registry.errors] == [
        ("MISSING_PARAMETER", parameter)
    ]


def test_settings_are_never_repeated_in_an_error(load: Load) -> None:
    registry = load("import dlt\n@dlt.table(spark_conf={'password': ['hunter2']})\ndef t(): ...\n")
    assert "hunter2" not in str(registry.errors[0].to_json())


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

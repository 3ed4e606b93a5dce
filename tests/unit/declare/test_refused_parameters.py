"""Parameters of declarations that are wrong, missing, unknown or without effect: each is named, with its line."""

from __future__ import annotations

import pytest
from tests.unit.declare.conftest import Load

from penstock.graph.elements import Table


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
    "refresh_policy": ("'incrementally'", "str"),
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


def test_table_properties_of_databricks_that_change_no_row_have_a_notice(load: Load) -> None:
    given = {
        "delta.targetFileSize": "100mb",
        "delta.TuneFileSizesForRewrites": True,
        "delta.feature.catalogManaged": "supported",
        "delta.autoOptimize.autoCompact": "auto",
        "quality": "gold",
    }
    registry = load(f"import dlt\n@dlt.table(table_properties={given})\ndef t(): ...\n")
    assert registry.errors == ()
    names = ["delta.targetFileSize", "delta.tuneFileSizesForRewrites", "delta.feature.catalogManaged"]
    assert [notice.facts["name"] for notice in registry.notices] == names
    (table,) = registry.datasets
    assert isinstance(table, Table)
    assert table.table_properties == {"delta.autoOptimize.autoCompact": "true", "quality": "gold"}

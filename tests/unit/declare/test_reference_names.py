"""Every name and parameter of the published APIs is there: accepted, or refused by its own name.

The tables are those of Databricks' `dlt` stub 0.3.0, of `pyspark.pipelines` 4.2 and 4.3, and of the current
Lakeflow documentation, written down by hand: they must not follow the code.
"""

from __future__ import annotations

import inspect

import pytest

from penstock.declare import SPELLINGS

_CHANGES = (
    "target source keys sequence_by apply_as_deletes apply_as_truncates column_list except_column_list "
    "stored_as_scd_type track_history_column_list track_history_except_column_list ignore_null_updates once"
)
_TABLE = "name comment spark_conf table_properties partition_cols path schema cluster_by row_filter"
_EXPECTATIONS = "expect_all expect_all_or_drop expect_all_or_fail"

DLT = {
    "table": f"query_function {_TABLE} temporary",
    "create_table": f"query_function {_TABLE} temporary",
    "view": "query_function name comment spark_conf",
    "create_view": "query_function name comment spark_conf",
    "create_streaming_table": f"{_TABLE} {_EXPECTATIONS}",
    "create_target_table": f"{_TABLE} {_EXPECTATIONS}",
    "create_streaming_live_table": f"{_TABLE} {_EXPECTATIONS}",
    "append_flow": "name target comment spark_conf once",
    "read": "name",
    "read_stream": "name",
    "readStream": "name",
    "expect": "name inv",
    "expect_or_drop": "name inv",
    "expect_or_fail": "name inv",
    "expect_all": "expectations",
    "expect_all_or_drop": "expectations",
    "expect_all_or_fail": "expectations",
    "apply_changes": f"{_CHANGES} where flow_name ignore_null_updates_column_list "
    "ignore_null_updates_except_column_list columns_to_update",
    "apply_changes_from_snapshot": "target source keys stored_as_scd_type snapshot_and_version "
    "track_history_column_list track_history_except_column_list",
    "on_event_hook": "user_event_hook_fn max_allowable_consecutive_failures",
    "enable_local_execution": "",
}
SPARK = {
    "table": "query_function name comment spark_conf table_properties partition_cols cluster_by schema format",
    "materialized_view": "query_function name comment spark_conf table_properties partition_cols cluster_by schema "
    "format",
    "temporary_view": "query_function name comment spark_conf",
    "create_streaming_table": "name comment table_properties partition_cols cluster_by schema format",
    "append_flow": "target name spark_conf",
    "create_sink": "name format options",
    "create_auto_cdc_flow": "target source keys sequence_by apply_as_deletes column_list except_column_list "
    "stored_as_scd_type name track_history_column_list track_history_except_column_list spark_conf",
}
LAKEFLOW = {
    "table": f"{_TABLE} cluster_by_auto private",
    "materialized_view": f"{_TABLE} cluster_by_auto private refresh_policy",
    "temporary_view": "name comment spark_conf",
    "view": "name comment spark_conf",
    "read": "name",
    "read_stream": "name",
    "create_streaming_table": f"{_TABLE} {_EXPECTATIONS}",
    "append_flow": "target name once spark_conf",
    "create_auto_cdc_flow": f"{_CHANGES} name columns_to_update system_sequence_by",
    "apply_changes": _CHANGES,
    "create_auto_cdc_from_snapshot_flow": "target source keys stored_as_scd_type track_history_column_list "
    "track_history_except_column_list",
    "create_sink": "name format options",
    "foreach_batch_sink": "name",
    "update_flow": "name target spark_conf",
    "on_event_hook": "max_allowable_consecutive_failures",
}
PUBLISHED = [
    (origin, spelling, name, parameters)
    for origin, table, spellings in (
        ("dlt", DLT, ("dlt",)),
        ("spark", SPARK, ("pyspark.pipelines",)),
        ("lakeflow", LAKEFLOW, tuple(SPELLINGS)),
    )
    for spelling in spellings
    for name, parameters in table.items()
]


@pytest.mark.parametrize(("origin", "spelling", "name", "parameters"), PUBLISHED)
def test_a_published_name(origin: str, spelling: str, name: str, parameters: str) -> None:
    function = SPELLINGS[spelling][name]
    assert inspect.getdoc(function), "the reference page shows its first line"
    known = inspect.signature(function).parameters
    assert [each for each in parameters.split() if each not in known] == [], origin

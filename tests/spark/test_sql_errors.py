"""What is wrong in a query is named, with its place in the statement."""

from __future__ import annotations

import pytest
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import PipelineInvalid, render

WRONG = {
    "SELECT *\nFROM orderz": ("TABLE_OR_VIEW_NOT_FOUND", (2, 6), "Did you mean 'orders'?"),
    "SELECT *\n  FROM STREAM(LIVE.orderz) o JOIN orders": ("TABLE_OR_VIEW_NOT_FOUND", (2, 8), "Did you mean 'orders'?"),
    "SELECT *\n FROM orders,\n read_filez('in')": ("UNRESOLVABLE_TABLE_VALUED_FUNCTION", (3, 2), "'read_files'"),
    "SELECT * FROM STREAM read_filez('in')": ("UNSUPPORTED_TABLE_FUNCTION", (1, 15), "'read_files'"),
    "SELECT * FROM STREAM range(3)": ("UNSUPPORTED_TABLE_FUNCTION", (1, 15), "without STREAM"),
    "SELECT * FROM read_files()": ("TABLE_FUNCTION_ARGUMENT_MISSING", (1, 15), "'path'"),
    "SELECT * FROM read_files(\n'in',\n format => orders.id)": ("TABLE_FUNCTION_ARGUMENT_INVALID", (3, 2), "constant"),
    "SELECT * FROM\nread_files('in', format => 'json', multiline2 => true)": (
        "TABLE_FUNCTION_UNKNOWN_ARGUMENT", (2, 36), "'multiLine'"
    ),
    "SELECT * FROM read_files('in', 'json')": ("TABLE_FUNCTION_ARGUMENT_INVALID", (1, 32), "one too many"),
    "SELECT * FROM read_files('in', format => 'jsn')": ("TABLE_FUNCTION_ARGUMENT_INVALID", (1, 32), "'json'"),
    "SELECT * FROM STREAM read_files('in', format => 'orc')": ("AUTO_LOADER_FILE_UNREADABLE", (1, 15), "as ORC"),
    "SELECT * FROM STREAM read_files('nowhere', format => 'json')": ("PATH_NOT_FOUND", (1, 15), "nowhere"),
    "SELECT * FROM cloud_files('in')": ("TABLE_FUNCTION_ARGUMENT_MISSING", (1, 15), "'format'"),
    "SELECT * FROM cloud_files('in', 'json', 'x')": ("TABLE_FUNCTION_ARGUMENT_INVALID", (1, 41), "is not a map"),
    "SELECT * FROM cloud_files('in', 'json', map('cloudFiles.schemaHint', 'a INT'))": (
        "AUTO_LOADER_UNKNOWN_OPTION", (1, 15), "schemaHints"
    ),
    "SELECT * FROM STREAM read_kafka(subscribe => 't')": (
        "TABLE_FUNCTION_ARGUMENT_MISSING", (1, 15), "bootstrapServers"
    ),
    "SELECT * FROM STREAM read_kafka(bootstrapServers => 'h:1')": (
        "TABLE_FUNCTION_ARGUMENT_MISSING", (1, 15), "subscribe"
    ),
    "SELECT * FROM STREAM read_kafka(bootstrapServers => 'h:1', subscribes => 't')": (
        "TABLE_FUNCTION_UNKNOWN_ARGUMENT", (1, 60), "'subscribe'"
    ),
    "SELECT * FROM read_kinesis(streamName => 's')": ("UNSUPPORTED_TABLE_FUNCTION", (1, 15), "STREAM read_kinesis"),
    "SELECT * FROM STREAM read_kinesis(streamNames => 's')": (
        "TABLE_FUNCTION_UNKNOWN_ARGUMENT", (1, 35), "'streamName'"
    ),
    "SELECT * FROM STREAM read_kinesis(streamName => 's', consumerMode => 'efo')": (
        "SOURCE_OPTION_REFUSED", (1, 15), "fan-out"
    ),
    "SELECT * FROM read_pubsub(subscriptionId => 's')": ("UNSUPPORTED_TABLE_FUNCTION", (1, 15), "STREAM read_files"),
    "SELECT * FROM read_pulsar(serviceUrl => 's')": ("UNSUPPORTED_TABLE_FUNCTION", (1, 15), "STREAM read_kafka"),
    "SELECT * FROM read_stream('orders')": ("UNSUPPORTED_TABLE_FUNCTION", (1, 15), "STREAM read_stream"),
    "SELECT * FROM STREAM read_stream('orders', skipChangeCommit => true)": (
        "TABLE_FUNCTION_UNKNOWN_ARGUMENT", (1, 44), "'skipChangeCommits'"
    ),
    "SELECT o.id,\n o.nothing\nFROM STREAM(LIVE.orders) o": ("QUERY_ANALYSIS_FAILED", (2, 2), "nothing"),
    "SELECT id FROM orders WHERE\n  idd = 1": ("QUERY_ANALYSIS_FAILED", (2, 3), "idd"),
    "SELECT id\nFROM orders WHERE AND": ("QUERY_ANALYSIS_FAILED", (2, 19), "AND"),
    "SELECT nofunction(id) FROM orders": ("QUERY_ANALYSIS_FAILED", (1, 8), "nofunction"),
}  # fmt: skip


def test_each_error_names_its_place(project: PipelineProject) -> None:
    project.arrive("1", [{"id": 1}])
    code = ['@dlt.table\ndef orders():\n    return spark.readStream.schema("id INT").json("in")\n']
    for number, statement in enumerate(WRONG):
        code.append(f"@dlt.table\ndef wrong_{number:02}():\n    return spark.sql({statement!r})\n")
    project.write("\n".join(code))
    errors = {str(error.dataset): error for error in project.validate().errors}
    found = {}
    for number, statement in enumerate(WRONG):
        error = errors[f"shop.wrong_{number:02}"]
        assert error.location is not None
        assert error.location.path == "pipeline.py"
        place = None if error.position is None else (error.position.line, error.position.column)
        word = WRONG[statement][2]
        found[statement] = (error.condition, place, word if word in f"{error.message} {error.fix}" else error.message)
    assert found == WRONG


def test_a_place_is_shown(project: PipelineProject) -> None:
    project.write('@dlt.table\ndef wrong():\n    return spark.sql("SELECT *\\nFROM orderz")\n')
    (error,) = project.validate().errors
    assert not isinstance(error, PipelineInvalid)
    assert "  at pipeline.py:8, line 2, column 6 of the statement (shop.wrong)" in render(error)


@pytest.mark.parametrize("statement", ["SELECT * FROM nowhere", "SELEC 1"])
def test_the_author_can_catch_sparks_own_exceptions(project: PipelineProject, statement: str) -> None:
    project.write(
        f"""
        from pyspark.errors import AnalysisException

        @dlt.table
        def fallback():
            try:
                return spark.sql({statement!r})
            except AnalysisException:
                return spark.range(1)
        """
    )
    assert project.validate().errors == ()

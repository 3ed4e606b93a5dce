"""`cloud_files(path, format, map(…))`: Auto Loader in the SQL of older pipelines."""

from __future__ import annotations

from pyspark.sql import DataFrame

from penstock.spark.sql.functions.table_function import TableFunctionCall


def cloud_files(call: TableFunctionCall) -> DataFrame:
    """Streams files, with or without STREAM before it; the options are those of `format("cloudFiles")`.

    `'schema'` among them is the schema, as DDL.

    Raises:
        DefinitionError: the TABLE_FUNCTION_… and AUTO_LOADER_… conditions.
    """
    arguments = call.bind("path", "format", "options")
    path = arguments.required("path", "cloud_files('path/of/the/files', 'json')")
    source_format = arguments.required("format", "cloud_files('path/of/the/files', 'json')")
    options = arguments.mapping("options")
    arguments.options(known=("path", "format", "options"))
    schema = next((value for name, value in options.items() if name.casefold() == "schema"), None)
    options = {name: value for name, value in options.items() if name.casefold() != "schema"}
    reader = call.stream_reader().format("cloudFiles").option("cloudFiles.format", source_format).options(**options)
    if schema is not None:
        reader = reader.schema(schema)
    return reader.load(path)

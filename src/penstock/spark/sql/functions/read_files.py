"""`read_files(path, format => …)`: files as a table; with STREAM, Auto Loader."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame

from penstock.errors import DefinitionError
from penstock.spark import _jvm
from penstock.spark.session.read_handler import bypass_hooks
from penstock.spark.sources.auto_loader import load_files, only_format_of
from penstock.spark.sources.auto_loader.options import names as option_names
from penstock.spark.sources.stream_read import StreamRead
from penstock.spark.sql.functions.table_function import TableFunctionCall

_EXAMPLE: Final = "read_files('path/of/the/files', format => 'json')"

# Of each file format.
_OF_ANY_FORMAT: Final = (
    "basePath",
    "ignoreCorruptFiles",
    "ignoreMissingFiles",
    "mergeSchema",
    "modifiedAfter",
    "modifiedBefore",
    "pathGlobFilter",
    "recursiveFileLookup",
)


def read_files(call: TableFunctionCall) -> DataFrame:
    """Reads the files that are there now, or with STREAM also those that arrive later.

    The options are those of Auto Loader, without their prefix, and of Spark's reader of the format. Types are
    inferred, and what does not fit goes to `_rescued_data`, in both. Without `format`, the names of the files imply it.

    Raises:
        DefinitionError: the TABLE_FUNCTION_… and AUTO_LOADER_… conditions, PATH_NOT_FOUND.
    """
    arguments = call.bind("path")
    path = arguments.required("path", _EXAMPLE)
    schema = arguments.text("schema")
    chosen = arguments.choice("format", option_names.FORMATS)
    where = path if call.streaming else call.map_path(path)
    source_format = chosen or _format_of(call, where)
    auto_loader = {
        name.removeprefix(option_names.PREFIX): name
        for name in (*option_names.SUPPORTED, *option_names.WITHOUT_EFFECT, *option_names.REFUSED)
        if name.startswith(option_names.PREFIX)
    }
    known = {*auto_loader, *auto_loader.values(), *option_names.REFUSED, *_OF_ANY_FORMAT}
    given = arguments.options(known | _jvm.reader_options(call.spark, source_format))
    options = {"cloudFiles.format": source_format, "cloudFiles.inferColumnTypes": "true"}
    options |= {auto_loader.get(name, name): value for name, value in given.items()}
    if call.streaming:
        reader = call.stream_reader().format("cloudFiles").options(**options)
        return (reader if schema is None else reader.schema(schema)).load(path)
    with bypass_hooks():
        return load_files(call.spark, StreamRead("cloudFiles", options, schema, where))


def _format_of(call: TableFunctionCall, path: str) -> str:
    where = call.map_path(path) if call.streaming else path
    with bypass_hooks():
        found = only_format_of(call.spark, where)
    if found is None:
        raise DefinitionError(
            "TABLE_FUNCTION_ARGUMENT_MISSING",
            function=call.name,
            argument="format",
            example=_EXAMPLE,
        ).at(call.position)
    return found

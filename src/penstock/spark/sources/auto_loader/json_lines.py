"""Lines of JSON in the JVM: by Penstock's own Java classes where the session has them, else as Spark does it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own spelling
from pyspark.sql.types import StringType, StructField, StructType

from penstock.spark._jvm import java_session, jvm
from penstock.spark.java_columns import called_for_rows
from penstock.spark.sources.auto_loader.encoded_text import decoded
from penstock.spark.sources.auto_loader.options import AutoLoaderOptions
from penstock.spark.sources.files import literal_path

CORRUPT: Final = "__penstock_corrupt"
MORE: Final = "__penstock_more"
LINE_OPTIONS: Final = ("encoding", "charset", "linesep")
"""The options that say where a line ends and how its bytes are text, folded."""


def line_options(options: AutoLoaderOptions) -> dict[str, str]:
    """Returns the options of the text source that serves the lines."""
    chosen = {name: value for name, value in options.reader.items() if name.casefold() != "multiline"}
    for name in list(chosen):
        if name.casefold() == "charset":
            chosen["encoding"] = chosen.pop(name)
    if options.reader_flag("multiLine", default=False):
        chosen["wholetext"] = "true"
    return chosen


def json_lines(spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]) -> DataFrame:
    """Returns the lines of these files, in a column `value`; whole files if they are multi-line."""
    reader = spark.read.format("text").options(**line_options(options))
    return decoded(reader.load([literal_path(path) for path in files]), options)


def some_begin_as_array(lines: DataFrame, line: str) -> bool:
    """Returns whether one of the lines begins as a JSON array does."""
    return not lines.where(f"startswith(ltrim({line}), '[')").isEmpty()


def record_of(lines: DataFrame, line: str, schema: StructType, options: Mapping[str, str]) -> tuple[Column, bool]:
    """Returns the record of each line as a struct, and whether it tells if there may be more in the line.

    The struct has the fields of `schema`, `CORRUPT` as `from_json` fills it, and where it tells so `MORE`: false where
    all of the line is in the record. A blank line has no record. `options` are those of `from_json`.
    """
    settings = {**options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    java = jvm(lines.sparkSession)
    try:
        parser = java.penstock.json.JsonRecords(
            schema.json(), java.org.apache.spark.api.python.PythonUtils.toScalaMap(settings), _time_zone(lines),
            CORRUPT, MORE,
        )  # fmt: skip
    except TypeError:  # a session without Penstock's classes: py4j took the class for a package
        given = StructType([*schema.fields, StructField(CORRUPT, StringType())])
        return F.from_json(line, given, settings), False
    return called_for_rows(lines.sparkSession, parser, "parse", parser.rowType(), F.col(line)), True


def inferred(lines: DataFrame, line: str, options: Mapping[str, str]) -> tuple[StructType, bool]:
    """Returns the columns that Spark infers of the lines, and whether one of them begins as an array does.

    Names that differ only in case, and the column of corrupt records, are among the columns. `options` are those of
    Spark's JSON reader.
    """
    spark = lines.sparkSession
    java = jvm(spark)
    text = lines.select(line)
    settings = java.org.apache.spark.api.python.PythonUtils.toScalaMap(dict(options))
    arrays: Any = None
    if not any(name.casefold() == "samplingratio" for name in options):
        try:
            counter = java_session(spark).sparkContext().longAccumulator()
            telling = java.penstock.json.TellingLines(settings, _time_zone(lines), counter)
        except TypeError:
            pass
        else:
            kind = java.org.apache.spark.sql.types.DataTypes.BooleanType
            text, arrays = text.where(called_for_rows(spark, telling, "tells", kind, F.col(line))), counter
    strings = getattr(text._jdf, "as")(java.org.apache.spark.sql.Encoders.STRING())
    found = java_session(spark).read().options(settings).json(strings).schema()
    columns = StructType.fromJson(json.loads(found.json()))
    if arrays is None:
        return columns, some_begin_as_array(lines, line)
    return columns, arrays.sum() > 0


def _time_zone(frame: DataFrame) -> str:
    return str(frame.sparkSession.conf.get("spark.sql.session.timeZone"))

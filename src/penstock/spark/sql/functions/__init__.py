"""The table functions that Spark does not have, by name: one file a source."""

from collections.abc import Mapping

from penstock.spark.sql.functions.cloud_files import cloud_files
from penstock.spark.sql.functions.read_files import read_files
from penstock.spark.sql.functions.read_kafka import read_kafka
from penstock.spark.sql.functions.read_kinesis import read_kinesis
from penstock.spark.sql.functions.read_stream import read_stream
from penstock.spark.sql.functions.table_function import TableFunction, TableFunctionCall
from penstock.spark.sql.functions.unsupported import UNSUPPORTED_FUNCTIONS

TABLE_FUNCTIONS: Mapping[str, TableFunction] = {
    "cloud_files": cloud_files,
    "read_files": read_files,
    "read_kafka": read_kafka,
    "read_kinesis": read_kinesis,
    "read_stream": read_stream,
    **UNSUPPORTED_FUNCTIONS,
}

__all__ = ["TABLE_FUNCTIONS", "TableFunction", "TableFunctionCall"]

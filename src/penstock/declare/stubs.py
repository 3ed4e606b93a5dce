"""Stub files that tell editors and type checkers what `dlt`, `pyspark.pipelines` and `spark` are in a pipeline file.

They re-export the typed names of `penstock` itself, so there is one set of signatures.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import penstock
from penstock.declare.spellings import SPELLINGS

HEADER = "# Made by 'penstock stubs'; made again by the next one.\n"
_GLOBALS = """\
from typing import Any

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession, SQLContext
from pyspark.sql.functions import udf as udf

spark: SparkSession
sc: SparkContext
sqlContext: SQLContext
dbutils: Any

def sql(sqlQuery: str, args: Any = ..., **kwargs: Any) -> DataFrame: ...
def table(tableName: str) -> DataFrame: ...
def display(*values: object, **options: object) -> None: ...
def displayHTML(html: str) -> None: ...
def getArgument(name: str, default: str | None = None) -> str: ...
"""


def stub_files() -> Mapping[str, str]:
    """Returns the text of each stub file by its path below the folder of stubs.

    `__builtins__.pyi` is how pyright and Pylance learn of names that no file imports; mypy has no such way.
    """
    return MappingProxyType(
        {
            "dlt/__init__.pyi": HEADER + _module("dlt"),
            "pyspark/pipelines/__init__.pyi": HEADER + _module("pyspark.pipelines"),
            "__builtins__.pyi": HEADER + _GLOBALS,
        }
    )


def _module(spelling: str) -> str:
    names = sorted(SPELLINGS[spelling])
    typed = [name for name in names if name in penstock.__all__]
    lines = [f"from penstock import {name} as {name}" for name in typed]
    if "enable_local_execution" in names:
        lines += ["", "def enable_local_execution() -> None: ..."]
    return "\n".join(lines) + "\n"

"""The names that a pipeline's files find without an import: those that a Databricks notebook has."""

from __future__ import annotations

import builtins
import functools
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from penstock.config import resolve_path
from penstock.declare.code.dbutils import Dbutils
from penstock.errors import DefinitionError


def given_names(
    session: Any, dbutils: Dbutils, display: Callable[..., object], opened: Callable[..., object]
) -> Mapping[str, object]:
    """Returns the names with their values.

    `session` is the SparkSession, or the one without Spark, of which everything but `conf` raises SPARK_NOT_STARTED.
    `opened` is the `open` of the files, which maps paths.
    """
    return {
        "spark": session,
        "sc": _Late(lambda: session.sparkContext),
        "sqlContext": _Late(lambda: _sql_context(session)),
        "sql": _LateFunction(lambda: session.sql),
        "table": _LateFunction(lambda: session.table),
        "udf": _LateFunction(_udf),
        "display": display,
        "displayHTML": _LateFunction(lambda: ignore_display),
        "dbutils": dbutils,
        "getArgument": _LateFunction(lambda: dbutils.widgets.getArgument),
        "open": opened,
    }


def ignore_display(*_: object, **__: object) -> None:
    """The `display` of pipeline files: a notebook shows its argument, a pipeline has nowhere to."""


class _Late:
    """An object that is made when it is used first; it does not travel to Spark's workers: see `pickling`."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._made = functools.cache(make)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made(), name)


class _LateFunction(_Late):
    """A function that is found when it is called."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._made()(*arguments, **options)


def _udf() -> Callable[..., Any]:
    from pyspark.sql.functions import udf

    return udf


def _sql_context(session: Any) -> Any:
    from pyspark.sql import SQLContext

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # deprecated since Spark 3, and still in published notebooks
        return SQLContext(session.sparkContext, session)


class MappedOpen:
    """Opens `/Volumes/…`, `/dbfs/…` and the like where `paths` says they are, anything else as Python does.

    It is a global of the pipeline's own files only: libraries, pathlib and workers have Python's.
    """

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths

    def __call__(self, file: Any, *arguments: Any, **options: Any) -> Any:
        """Opens a file as `open` does.

        Raises:
            DefinitionError: PATH_NOT_MAPPED.
            OSError: as `open`.
        """
        where = resolve_path(file, self._paths) if isinstance(file, str) else file
        return builtins.open(where, *arguments, **options)

    def __reduce__(self) -> tuple[Any, ...]:
        # A worker has neither Penstock nor the mapping: it gets Python's own.
        return operator.itemgetter(0), ((builtins.open,),)


_MISSING = object()


class GraphOnlyConf:
    """`spark.conf` without a session: the pipeline's `configuration`, and what its files set."""

    def __init__(self, configuration: Mapping[str, str]) -> None:
        self._values = dict(configuration)

    def get(self, key: str, default: object = _MISSING) -> object:
        """Returns a value of the configuration.

        Raises:
            DefinitionError: SQL_CONF_NOT_FOUND without a default.
        """
        if key in self._values:
            return self._values[key]
        if default is _MISSING:
            raise DefinitionError("SQL_CONF_NOT_FOUND", key=key)
        return default

    def set(self, key: str, value: str | bool | int) -> None:
        """Sets a value for the rest of this load."""
        self._values[key] = str(value).lower() if isinstance(value, bool) else str(value)

    def unset(self, key: str) -> None:
        """Removes a value for the rest of this load."""
        self._values.pop(key, None)


class GraphOnlySession:
    """Answers `spark.conf`; everything else needs a session and raises DefinitionError SPARK_NOT_STARTED."""

    def __init__(self, configuration: Mapping[str, str]) -> None:
        self.conf = GraphOnlyConf(configuration)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise DefinitionError("SPARK_NOT_STARTED", attribute=name)

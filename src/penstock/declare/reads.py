"""`read` and `read_stream`: the older spelling of `spark.read.table` and `spark.readStream.table`.

They ask the active Spark session and nothing else; that a name means a dataset of the pipeline is
the business of analysis, which answers the session's reads while a dataset function runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.declare.parameters import describe
from penstock.declare.registry import registration_context
from penstock.declare.user_frames import caller_location
from penstock.errors import DefinitionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read(name: str) -> DataFrame:
    """Returns all rows of another dataset, or of an existing table.

    Args:
        name: 1 to 3 parts; a leading `LIVE.` is accepted.

    Raises:
        DefinitionError: READ_OUTSIDE_DATASET_FUNCTION while the pipeline's files load,
            INVALID_PARAMETER, NO_ACTIVE_OR_DEFAULT_SESSION.
    """
    return _session(name, "read").read.table(name)


def read_stream(name: str) -> DataFrame:
    """Returns another dataset, or an existing table, as a stream of its new rows.

    Args:
        name: 1 to 3 parts; a leading `LIVE.` is accepted.

    Raises:
        DefinitionError: READ_OUTSIDE_DATASET_FUNCTION while the pipeline's files load,
            INVALID_PARAMETER, NO_ACTIVE_OR_DEFAULT_SESSION.
    """
    return _session(name, "read_stream").readStream.table(name)


def readStream(name: str) -> DataFrame:
    """Another spelling of `read_stream`."""
    return _session(name, "readStream").readStream.table(name)


def _session(name: object, function: str) -> SparkSession:
    registry = registration_context.get()
    location = caller_location(registry.root) if registry is not None else None
    if not isinstance(name, str) or not name.strip():
        raise DefinitionError(
            "INVALID_PARAMETER",
            location=location,
            function=function,
            parameter="name",
            expected="a non-empty str",
            got=describe(name),
        )
    return active_session(name)


def active_session(name: str) -> SparkSession:
    """Returns the session of the dataset function, or of the script, that is running; `name` is what is read.

    Raises:
        DefinitionError: READ_OUTSIDE_DATASET_FUNCTION while the pipeline's files load,
            NO_ACTIVE_OR_DEFAULT_SESSION.
    """
    registry = registration_context.get()
    location = caller_location(registry.root) if registry is not None else None
    if location is not None:
        raise DefinitionError("READ_OUTSIDE_DATASET_FUNCTION", location=location, name=name)
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    try:
        return SparkSession.active()
    except PySparkRuntimeError as error:
        raise DefinitionError("NO_ACTIVE_OR_DEFAULT_SESSION", name=name) from error

"""The one place that reads Spark's and Delta's exceptions: by condition, never by text when there is one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

from penstock.config import explain_missing_file
from penstock.errors import (
    ConfigError,
    DataError,
    DefinitionError,
    ExternalError,
    PenstockError,
    SourceLocation,
    StateError,
    did_you_mean,
    exhaustion,
)
from penstock.graph.elements import Table
from penstock.spark.expectations.observed import FAILURE_MARK
from penstock.spark.failures.causes import DATA_EXCEPTION, Cause, causes_of, first_line, reason_of
from penstock.spark.failures.clients import is_away, kafka_failure, object_store_failure
from penstock.spark.failures.data_exceptions import data_exception
from penstock.spark.failures.java_versions import class_needs_newer_java
from penstock.spark.failures.own_classes import changed_internals
from penstock.spark.failures.python_sources import SourceFailure, parse_failure
from penstock.spark.failures.statement_places import statement_position
from penstock.storage import local_path
from penstock.storage.delta.data_files import missing_data_file
from penstock.storage.stores.errors import object_store_error

_FILE_GONE = "FAILED_READ_FILE.FILE_NOT_EXIST"
_TABLE_FUNCTIONS = ("cloud_files", "read_files", "read_kafka", "read_kinesis", "read_stream")
_STATE_CONDITIONS = (
    "STREAMING_STATEFUL_OPERATOR",
    "STATE_STORE_KEY_SCHEMA",
    "STATE_STORE_VALUE_SCHEMA",
    "STREAM_FAILED_CHECKPOINT",
    "STREAMING_CHECKPOINT",
    "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
)
_STATE_FAILURES = {
    _STATE_CONDITIONS: "CHECKPOINT_INCOMPATIBLE",
    ("CONCURRENT_STREAM_LOG_UPDATE",): "CHECKPOINT_WRITTEN_BY_ANOTHER",
    ("CANNOT_LOAD_STATE_STORE",): "CHECKPOINT_STATE_NOT_LOADED",
    ("DELTA_SOURCE_IGNORE_DELETE", "DELTA_SOURCE_TABLE_IGNORE_CHANGES"): "SOURCE_ROWS_CHANGED",
    ("DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE",): "SOURCE_COLUMNS_CHANGED",
    ("DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION",): "SOURCE_COLUMNS_NOT_ACCEPTED",
}
"""Which condition Spark's and Delta's mean, by how theirs begin."""
_DAMAGED_LOG = (
    "DELTA_STATE_RECOVER_ERROR",
    "DELTA_TRUNCATED_TRANSACTION_LOG",
    "DELTA_TXN_LOG_FAILED_INTEGRITY",
    "DELTA_VERSIONS_NOT_CONTIGUOUS",
)
_SCHEMA_CHANGED = (
    "DELTA_SCHEMA_CHANGED",
    "DELTA_STREAMING_METADATA_EVOLUTION",
    "DELTA_STREAMING_SCHEMA_MISMATCH_ON_RESTART",
)
_TYPE_CONDITIONS = ("DELTA_FAILED_TO_MERGE_FIELDS", "DELTA_MERGE_INCOMPATIBLE")
_CONFLICTS = ("Concurrent", "MetadataChangedException", "ProtocolChangedException")
_LOG_FILE = re.compile(r"(?P<table>.+)/_delta_log/(?P<file>[^/]+)")
_PYTHON_WORKER_DIED = "Python worker exited unexpectedly"
"""How Spark's exception begins; it has no condition."""
_PYTHON_DIFFERS = re.compile(
    r"\[PYTHON_VERSION_MISMATCH\] [^\n]*?version: (?P<worker>\d+\.\d+) than that in driver: (?P<driver>\d+\.\d+)"
)
"""What a Python worker raises before it runs anything; Spark has the text only."""
_EXECUTORS_LOST = re.compile(
    r"Job aborted due to stage failure: [^\n]*(?:ExecutorLostFailure|with indeterminate output was failed"
    r"|has failed the maximum allowable number of times)"
)
"""How Spark's exception of a job begins; it has no condition."""
_HELD_ROWS_LOST = "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"
"""Of rows that executors held; a batch that starts again reads them again."""
_OUT_OF_MEMORY = re.compile(r"code 52\b|OutOfMemory|OOMKilled|memory limits")
"""The executor's own end, which waiting does not prevent; the number is that of Spark."""
_OF_NO_CAUSE = {None, "STREAM_FAILED", "TASK_WRITE_FAILED"}
"""What Spark says of any failure of a query, or of a task that writes."""
_OF_NO_PLACE = {"JVM_DIED", "DATA_FILES_MISSING"}
_DISK_FULL = re.compile(r"No space left on device|Disk quota exceeded", re.IGNORECASE)
_OF_DELTA_RS = re.compile(r"Generic (?:S3|MicrosoftAzure|GCS) error")
"""What its exceptions have in common that an object store has caused, whatever their class."""
_NO_ANSWER = re.compile(r"java\.net\.(Connect|NoRouteToHost|UnknownHost)Exception")


def translate_analysis(
    error: BaseException,
    *,
    known: tuple[str, ...],
    location: SourceLocation | None,
    dataset: str | None,
    otherwise: str = "DATASET_FUNCTION_FAILED",
) -> PenstockError:
    """Returns what an exception of a dataset function means to the author of the pipeline.

    `known` are the names of the pipeline's datasets, for "did you mean". An error in a SQL statement keeps
    its place there. What nothing else is known of has the condition `otherwise`.
    """
    translated = error if isinstance(error, PenstockError) else _analysis_error(error, known, dataset, otherwise)
    if translated.condition not in _OF_NO_PLACE:
        translated.location = translated.location or location
    translated.dataset = translated.dataset or dataset
    translated.position = translated.position or statement_position(error)
    return translated


def _analysis_error(error: BaseException, known: tuple[str, ...], dataset: str | None, otherwise: str) -> PenstockError:
    causes = tuple(causes_of(error))
    failure = error if isinstance(error, SourceFailure) else parse_failure(cause.message for cause in causes)
    if failure is not None:
        return failure.error(dataset=dataset)
    if (store := object_store_failure([(cause.class_name, cause.message) for cause in causes])) is not None:
        return store
    if (found := _of_files_or_classes(causes, dataset)) is not None:
        return found
    if isinstance(error, PySparkException):
        condition = error.getCondition() or type(error).__name__
        parameters = error.getMessageParameters() or {}
        # Spark's own catalog knows no third part of a name: there, a name with one is simply not found.
        if condition in {"TABLE_OR_VIEW_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE"}:
            name = str(parameters.get("relationName") or parameters.get("identifier", "")).replace("`", "")
            suggestion = _in_other_catalog(name, known) or did_you_mean(
                name.rpartition(".")[2],
                [each.rpartition(".")[2] for each in known if each.count(".") == 1],
                also="Declare it, or check the name of the existing table.",
            )
            return DefinitionError("TABLE_OR_VIEW_NOT_FOUND", name=name, suggestion=suggestion)
        if condition == "UNRESOLVABLE_TABLE_VALUED_FUNCTION":
            name = str(parameters.get("name", "")).replace("`", "")
            suggestion = did_you_mean(
                name, _TABLE_FUNCTIONS, also=f"Those beyond Spark's are {', '.join(_TABLE_FUNCTIONS)}."
            )
            return DefinitionError("UNRESOLVABLE_TABLE_VALUED_FUNCTION", name=name, suggestion=suggestion)
        if condition == "SQL_CONF_NOT_FOUND":
            return DefinitionError("SQL_CONF_NOT_FOUND", key=str(parameters.get("sqlConf", "")).strip('"'))
        if condition == "PATH_NOT_FOUND":
            return DefinitionError("PATH_NOT_FOUND", path=str(parameters.get("path", "")).removeprefix("file:"))
        return DefinitionError("QUERY_ANALYSIS_FAILED", detail=reason_of(error))
    if isinstance(error, (Py4JNetworkError, ConnectionError)):
        return ExternalError("JVM_DIED")
    if (not_mapped := explain_missing_file(error)) is not None:
        return not_mapped
    kind, reason = type(error).__name__, str(error)
    if causes:
        kind, reason = causes[0].class_name.rpartition(".")[2], causes[0].message
    return DefinitionError(otherwise, error=kind, reason=first_line(reason))


def _of_files_or_classes(causes: Sequence[Cause], dataset: str | None) -> PenstockError | None:
    """Returns what it means that a file or a class is not there or not as it must be, in analysis and in a batch."""
    return (
        missing_files(causes, dataset)
        or changed_internals([(cause.own_class, cause.message) for cause in causes], dataset)
        or class_needs_newer_java((cause.message for cause in causes), dataset)
    )


def missing_files(causes: Iterable[Cause], dataset: str | None) -> StateError | None:
    """Returns what it means that Spark did not find a file which the log of a Delta table names."""
    for cause in causes:
        if cause.condition == _FILE_GONE and (path := cause.parameters.get("path")):
            return missing_data_file(path, dataset)
    return None


def _in_other_catalog(name: str, known: Iterable[str]) -> str:
    """Returns the hint at the dataset that has a name but for its catalog, or a similar one in a catalog.

    Empty when there is none.
    """
    known = tuple(known)
    alike = [each for each in known if _without_catalog(each) == _without_catalog(name) and "." in each]
    if not alike:
        return did_you_mean(name, [each for each in known if each.count(".") == 2])
    catalogs = {each.partition(".")[0].casefold() for each in known if each.count(".") == 2}
    catalog = name.partition(".")[0] if name.count(".") == 2 else None
    nowhere = (
        ""
        if catalog is None or catalog.casefold() in catalogs
        else (f" '{catalog}' is neither a catalog of this pipeline nor one of the session.")
    )
    return f"Did you mean '{alike[0]}'?{nowhere}"


def _without_catalog(name: str) -> str:
    return ".".join(name.casefold().split(".")[-2:])


def translate_failure(error: BaseException, *, dataset: str, flow: str) -> PenstockError:
    """Returns what the failure of a running flow means to its operator, and whether to try again."""
    if isinstance(error, SourceFailure):
        return error.error(dataset=dataset, flow=flow)
    if isinstance(error, PenstockError):
        error.dataset = error.dataset or dataset
        return error
    if (exhausted := exhaustion(error)) is not None:
        exhausted.dataset = dataset
        return exhausted
    causes = tuple(causes_of(error))
    # First, because Spark wraps it into what it could not do for it, such as to load a state.
    if (storage := _storage_failure(error, causes, dataset)) is not None:
        return storage
    if (failure := parse_failure(cause.message for cause in causes)) is not None:
        return failure.error(dataset=dataset, flow=flow)
    if (found := _of_files_or_classes(causes, dataset)) is not None:
        return found
    for cause in causes:
        if known := _known_failure(cause, dataset, flow):
            return known
        if kafka := kafka_failure(cause.class_name, first_line(cause.message), first_line(causes[-1].message)):
            kafka.dataset = dataset
            return kafka
    for cause, outer in zip(causes, (None, *causes), strict=False):
        if _NO_ANSWER.fullmatch(cause.class_name):
            detail = _no_answer(cause, outer)
            return ExternalError("SERVICE_UNREACHABLE", dataset=dataset, flow=flow, detail=detail)
    if _jvm_is_gone(error, causes):
        return ExternalError("JVM_DIED", dataset=dataset)
    root = causes[-1] if causes else Cause(type(error).__name__, None, str(error), {})
    said = [cause for cause in causes if cause.condition not in _OF_NO_CAUSE]
    detail = (said[-1] if said else root).message
    return ExternalError("FLOW_FAILED", dataset=dataset, flow=flow, detail=first_line(detail))


def _storage_failure(error: BaseException, causes: Sequence[Cause], dataset: str) -> PenstockError | None:
    if _OF_DELTA_RS.search(str(error)) and (refused := object_store_error(dataset, error)) is not None:
        refused.dataset = dataset
        return refused
    if (store := object_store_failure([(cause.class_name, cause.message) for cause in causes])) is not None:
        store.dataset = dataset
        return store
    if failed := next((cause for cause in causes if cause.is_storage), None):
        full = _DISK_FULL.search(failed.message)
        condition = "STORAGE_FULL" if full else "STORAGE_FAILED"
        return ExternalError(condition, dataset=dataset, detail=first_line(failed.message))
    return None


def translate_set_up(error: BaseException, table: Table, path: str) -> PenstockError:
    """Returns what it means that a table could not be created, emptied or altered at `path`."""
    dataset = str(table.identifier)
    known = translate_failure(error, dataset=dataset, flow=table.identifier.name)
    if known.condition != "FLOW_FAILED":
        return known
    detail = known.facts["detail"]
    if any(cause.condition == "DELTA_CANNOT_CREATE_LOG_PATH" for cause in causes_of(error)):
        return ConfigError("STORAGE_NOT_WRITABLE", location=table.location, dataset=dataset, path=path, reason=detail)
    return DefinitionError(
        "TABLE_SETUP_FAILED", location=table.location, dataset=dataset, name=dataset, path=path, detail=detail
    )


def is_upstream_schema_change(error: BaseException) -> bool:
    """Whether a Delta source only says that its table has a new schema, which a restart reads."""
    return any((cause.condition or "").startswith(_SCHEMA_CHANGED) for cause in causes_of(error))


def user_raised(error: BaseException) -> str | None:
    """Returns the text that a `raise_error()` inside the query raised, or None."""
    for cause in causes_of(error):
        if cause.condition == "USER_RAISED_EXCEPTION":
            return cause.parameters.get("errorMessage") or cause.message
    return None


def _known_failure(cause: Cause, dataset: str, flow: str) -> PenstockError | None:
    condition = cause.condition or ""
    if (versions := _PYTHON_DIFFERS.search(cause.message)) is not None:
        return ConfigError(
            "PYTHON_VERSION_DIFFERS", dataset=dataset, worker=versions["worker"], driver=versions["driver"]
        )
    if condition == "USER_RAISED_EXCEPTION" and (start := cause.message.find(FAILURE_MARK)) >= 0:
        return _expectation_failure(cause.message[start + len(FAILURE_MARK) :], dataset)
    for prefixes, name in _STATE_FAILURES.items():
        if condition.startswith(prefixes):
            return StateError(name, dataset=dataset, flow=flow, detail=first_line(cause.message), name=dataset)
    if condition == "UNSUPPORTED_FEATURE.STORE_BACKEND_NOT_SUPPORTED_FOR_TWS":
        provider = cause.parameters.get("stateStoreProvider", "another one")
        return DefinitionError("STATE_STORE_NOT_SUPPORTED", dataset=dataset, flow=flow, provider=provider)
    if condition.startswith("FAILED_READ_FILE") and (log := _LOG_FILE.fullmatch(cause.parameters.get("path", ""))):
        reason = f"the file {log['file']} of its log is damaged"
        return StateError("TABLE_NOT_READABLE", dataset=dataset, name=local_path(log["table"]), reason=reason)
    if condition.startswith(_DAMAGED_LOG):
        reason = f"the log of it, or of a table that it is made of, is damaged: {first_line(cause.message)}"
        return StateError("TABLE_NOT_READABLE", dataset=dataset, name=dataset, reason=reason.removesuffix("."))
    if external := _external_condition(cause):
        return ExternalError(external, dataset=dataset, detail=first_line(cause.message))
    if condition == "DELTA_NOT_NULL_CONSTRAINT_VIOLATED":
        column = cause.message.partition("column: ")[2].partition("SQLSTATE")[0].strip(" .\n")
        return DataError("NOT_NULL_VIOLATED", dataset=dataset, flow=flow, name=dataset, column=column)
    if condition.startswith(_TYPE_CONDITIONS) or (condition.startswith("DELTA_") and "SCHEMA" in condition):
        return StateError("TABLE_SCHEMA_MISMATCH", dataset=dataset, name=dataset, detail=first_line(cause.message))
    if (cause.sql_state or "").startswith(DATA_EXCEPTION):
        detail = first_line(cause.message)
        return data_exception(condition, cause.message, detail, cause.place, dataset=dataset, flow=flow)
    return None


def _external_condition(cause: Cause) -> str | None:
    if _DISK_FULL.search(cause.message):
        return "STORAGE_FULL"
    if cause.message.startswith(_PYTHON_WORKER_DIED):
        return "PYTHON_WORKER_DIED"
    if cause.condition == _HELD_ROWS_LOST or _EXECUTORS_LOST.search(cause.message):
        return None if _OUT_OF_MEMORY.search(cause.message) else "EXECUTORS_LOST_DURING_BATCH"
    if is_away(cause.class_name):
        return "KAFKA_LOST"
    if cause.class_name.startswith("io.delta.exceptions.") and any(name in cause.class_name for name in _CONFLICTS):
        return "TABLE_CONFLICT"
    return None


def _no_answer(cause: Cause, outer: Cause | None) -> str:
    """Words of the client, which knows the address; Spark's own exceptions around it only say that a task failed."""
    shown = cause if outer is None or outer.class_name.startswith("org.apache.spark.") else outer
    kind = shown.class_name.rpartition(".")[2]
    return f"{kind}: {first_line(shown.message)}"


def _expectation_failure(payload: str, dataset: str) -> DataError:
    record, _ = json.JSONDecoder().raw_decode(payload)
    return DataError(
        "EXPECTATION_FAILED",
        dataset=dataset,
        expectations=", ".join(f"'{name}'" for name in record["rules"]),
        name=record["dataset"],
        row=record["row"],
        origin=_origin(record.get("origin") or {}),
    )


def _origin(origin: dict[str, Any]) -> str:
    """Words for a row's origin; a struct of nulls says that nothing is known of this one."""
    path = re.sub("^file:/+", "/", origin.get("file_path") or "")  # as people write it
    words = [f"file {path}"] if path else []
    if origin.get("topic") is not None:
        words.append(f"topic {origin['topic']}, partition {origin.get('partition')}, offset {origin.get('offset')}")
    return f" of {', '.join(words)}" if words else ""


def _jvm_is_gone(error: BaseException, causes: tuple[Cause, ...]) -> bool:
    if isinstance(error, (Py4JNetworkError, ConnectionError, BrokenPipeError)):
        return True
    return isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError) and not causes

"""What failed when an exception does not name it: code of a sink that did not take a batch, a damaged checkpoint."""

from __future__ import annotations

import socket
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from penstock.declare import failure_location, one_line
from penstock.declare.user_frames import shown_path
from penstock.errors import ExternalError, PenstockError, StateError
from penstock.graph.resolved import ResolvedFlow
from penstock.graph.sql_query import sql_place
from penstock.runtime.flows.services import FlowQueries
from penstock.spark.failures.python_sources import ConnectorError, SourceFailure
from penstock.spark.failures.translate import translate_failure
from penstock.spark.sinks.batch_writer import FUNCTION
from penstock.spark.streams.writes import BatchFailure
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.logs import UnknownVersion
from penstock.storage.checkpoint.state import state_version
from penstock.storage.checkpoint.whole_files import damage_of

# The same call would fail in the same way; anything else may be the other side's fault, and pass.
_PROGRAMMING_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    NotImplementedError,
    SyntaxError,
    TypeError,
    ValueError,
)
# What Python's sockets raise; clients' own exceptions hold it as their cause or context.
_NO_ANSWER = (ConnectionError, TimeoutError, socket.gaierror)


def sink_failure(failure: BatchFailure, flow: ResolvedFlow, root: Path, code: str) -> PenstockError:
    """Returns the error of a batch that `code`, a sink's function or connector, did not take, at the user's line."""
    cause, name = failure.cause, str(flow.declaration.target)
    location = failure_location(cause.__traceback__, root)
    if isinstance(cause, PenstockError | PySparkException | Py4JError | SourceFailure):
        known = translate_failure(cause, dataset=name, flow=flow.declaration.name)
        known.location = known.location or location
        return known
    if _is_unanswered(cause):
        return ExternalError(
            "SERVICE_UNREACHABLE",
            location=location,
            dataset=name,
            flow=flow.declaration.name,
            detail=f"{type(cause).__name__}: {one_line(cause)}",
        )
    programming = isinstance(cause, (*_PROGRAMMING_ERRORS, SystemExit))
    if code != FUNCTION:
        detail = f"batch {failure.batch_id}: {type(cause).__name__}: {one_line(cause)}"
        error = ConnectorError(detail, code=code, retry=not programming)
        facts: dict[str, Any] = dict(error.facts)
        return ExternalError(error.condition, dataset=name, **facts)
    return ExternalError(
        "SINK_FUNCTION_FAILED" if programming else "SINK_FUNCTION_INTERRUPTED",
        location=location,
        dataset=name,
        name=name,
        batch=failure.batch_id,
        error=type(cause).__name__,
        detail=one_line(cause),
    )


def _is_unanswered(error: BaseException) -> bool:
    """Whether what the function talks to is away."""
    each: BaseException | None = error
    seen: set[int] = set()
    while each is not None and id(each) not in seen:
        if isinstance(each, _NO_ANSWER):
            return True
        seen.add(id(each))
        each = each.__cause__ or each.__context__
    return False


def damaged_checkpoint(checkpoint: str, *, dataset: str, flow: str) -> StateError | None:
    """Returns CHECKPOINT_FILE_DAMAGED for the first damaged file of a checkpoint; None when there is none.

    The versions of the state are left out: they can be large, and Spark says itself when it cannot load one.
    """
    with suppress(PenstockError):  # what keeps this from being read has its own name somewhere else
        folder = CheckpointFolder.open(checkpoint)
        for name in folder.files:
            with suppress(UnknownVersion, FileNotFoundError):
                if state_version(name) is None and (reason := damage_of(folder, name)) is not None:
                    file = folder.files[name].uri
                    return StateError(
                        "CHECKPOINT_FILE_DAMAGED", dataset=dataset, flow=flow, file=file, reason=reason, name=dataset
                    )
    return None


def with_place(error: PenstockError, flow: ResolvedFlow, services: FlowQueries) -> PenstockError:
    """Gives a DATA_EXCEPTION the place of its expression, else that of the flow; other errors stay as they are."""
    if error.condition != "DATA_EXCEPTION":
        return error
    if error.location is not None:
        error.location = replace(error.location, path=shown_path(error.location.path, services.settings.directory))
        return error
    code = error.facts["where"].removeprefix(" in '").removesuffix("'")
    table = services.graph.tables.get(flow.declaration.target)
    rules = table.expectations if table is not None else ()
    error.location = (sql_place(code, flow.declaration, rules) if code else None) or flow.declaration.location
    return error

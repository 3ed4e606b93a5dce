"""What happens to an error on its way out: a person gets condition, place and fix; a script gets JSON and a code."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from penstock.cli.screen.console import note, print_json
from penstock.errors import ExternalError, InternalError, PenstockError, SeveralErrors, exhaustion, render


def errors_of(error: PenstockError) -> tuple[PenstockError, ...]:
    """Returns the single errors behind `error`."""
    return error.errors if isinstance(error, SeveralErrors) else (error,)


def errors_json(errors: tuple[PenstockError, ...]) -> list[dict[str, Any]]:
    """Returns errors as `--json` prints them."""
    return [one.to_json() for one in errors]


def report_failure(error: BaseException, *, as_json: bool, debug: bool) -> int:
    """Shows `error` on stderr, and as `{"errors": [...]}` on stdout for `--json`.

    An error that is no PenstockError is a bug, unless Spark's JVM has died: its full traceback goes to a file, whose
    path is shown.

    Returns:
        The exit code.
    """
    known = error if isinstance(error, PenstockError) else exhaustion(error) or _of_a_dead_jvm() or _internal(error)
    note(render(known))
    if debug:
        note(_trace(error))
    if as_json:
        with suppress(OSError):  # it may be standard output that failed
            print_json({"errors": errors_json(errors_of(known))})
    return known.exit_code


def _of_a_dead_jvm() -> ExternalError | None:
    """Any call to the JVM fails in its own way when the JVM is gone; most are translated where they are made."""
    session = sys.modules.get("penstock.spark.session.session")  # not imported: most commands need no Spark
    if session is None or session.jvm_exit_code(within=1.0) is None:
        return None
    return ExternalError("JVM_DIED")


def _internal(error: BaseException) -> InternalError:
    summary = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}".rstrip(": ")
    try:
        report = str(write_report(error))
    except OSError as unwritten:
        report = f"no file ({unwritten.strerror})"
    return InternalError("INTERNAL_ERROR", summary=_without_secrets(summary)[:200], report=report)


def write_report(error: BaseException) -> Path:
    """Writes what a bug report needs into a new file, readable by its owner only.

    Only the words of the command line are recorded, never the environment: it holds secrets. Values of secrets that
    the pipeline file refers to are replaced by `***`.
    """
    from penstock.storage import without_values

    versions = "\n".join(f"{name} {_version(name)}" for name in ("penstock", "pyspark", "delta-spark", "typer"))
    text = "\n".join(
        [
            f"time {datetime.now(UTC).isoformat()}",
            f"command {' '.join(without_values(sys.argv[1:]))}",
            f"python {platform.python_version()} on {platform.platform()}",
            versions,
            "",
            _trace(error),
        ]
    )
    descriptor, path = tempfile.mkstemp(prefix="penstock-report-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return Path(path)


def _trace(error: BaseException) -> str:
    return _without_secrets("".join(traceback.format_exception(error)))


def _without_secrets(text: str) -> str:
    from penstock.config import redacted

    return redacted(text)


def _version(distribution: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"

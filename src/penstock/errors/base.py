"""The error classes, by what the caller can do about it.

PenstockError
|- DefinitionError   the pipeline's source files must change        exit code 2
|  `- PipelineInvalid   several of them, found in one analysis
|- ConfigError       penstock.yml or a command-line flag must change  exit code 2
|- StateError        lock, checkpoint or table does not fit         exit code 3
|  `- UpdateRefused     several of them, for which one update cannot run
|- DataError         the data broke a rule that stops the flow       exit code 1
|- ExternalError     a broker, a disk or a download failed           exit code 1
`- InternalError     a bug of Penstock                               exit code 1
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from penstock.errors.catalogue import Retry, condition, fill
from penstock.errors.text import clean, plural


@dataclass(frozen=True, slots=True, order=True)
class SourceLocation:
    """A place in a user's file: `path` as the user would type it, `line` and `column` counted from 1.

    Python declarations have no column: a line says enough there.
    """

    path: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.path, self.line, self.column) if part is not None)


@dataclass(frozen=True, slots=True, order=True)
class StatementPosition:
    """A place in a SQL statement, as its author wrote it: `line` and `column` counted from 1."""

    line: int
    column: int

    @classmethod
    def of(cls, statement: str, offset: int) -> StatementPosition:
        """Returns the place of the character at `offset`."""
        before = statement[:offset]
        return cls(before.count("\n") + 1, offset - before.rfind("\n"))

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column} of the statement"


class PenstockError(Exception):
    """One condition of the catalogue with its facts.

    `facts` are the values of the placeholders of message and fix; they are kept as attributes of
    the error, copied to the event log, and never hold a secret. The error can be pickled, because
    Spark carries errors between processes. `position` is the place in the SQL statement that stands at
    `location`, when the error is about one.
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        condition_name: str,
        *,
        location: SourceLocation | None = None,
        dataset: str | None = None,
        **facts: object,
    ) -> None:
        self.condition = condition_name
        self.location = location
        self.dataset = dataset
        self.position: StatementPosition | None = None
        self.facts = {name: str(value) for name, value in facts.items()}
        super().__init__(f"[{condition_name}] {self.message}")

    def at(self, position: StatementPosition | None) -> Self:
        """Sets the place in the statement and returns this error."""
        self.position = position
        return self

    @property
    def message(self) -> str:
        """The catalogue's message with this error's facts filled in."""
        return fill(condition(self.condition).message, self.facts)

    @property
    def fix(self) -> str:
        """What to type or edit next."""
        return fill(condition(self.condition).fix, self.facts)

    @property
    def retryable(self) -> bool:
        """Whether trying the same work again can help."""
        return condition(self.condition).retry is not Retry.NEVER

    @property
    def is_outage(self) -> bool:
        """Whether a service is away, so that waiting helps however long it takes."""
        return condition(self.condition).retry is Retry.OUTAGE

    def redact(self, redacted: Callable[[str], str]) -> None:
        """Applies `redacted` to the facts, in place: called before an error is shown or logged."""
        self.facts = {name: redacted(text) for name, text in self.facts.items()}
        self.args = (f"[{self.condition}] {self.message}",)

    def to_json(self) -> dict[str, Any]:
        """Returns `{condition, message, fix, dataset, file, line, column}`, as `--json` prints it."""
        return {
            "condition": self.condition,
            "message": self.message,
            "fix": self.fix,
            "dataset": self.dataset,
            "file": self.location.path if self.location else None,
            "line": self.location.line if self.location else None,
            "column": self.location.column if self.location else None,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return (
            _rebuild,
            (type(self), self.condition, self.location, self.dataset, self.facts),
            {"position": self.position},
        )


def _rebuild(
    kind: type[PenstockError],
    condition_name: str,
    location: SourceLocation | None,
    dataset: str | None,
    facts: dict[str, str],
) -> PenstockError:
    return kind(condition_name, location=location, dataset=dataset, **facts)


class DefinitionError(PenstockError):
    """The pipeline's source files must change."""

    exit_code = 2


class ConfigError(PenstockError):
    """`penstock.yml`, an environment variable or a flag must change."""

    exit_code = 2


class StateError(PenstockError):
    """A lock, a checkpoint or a table does not fit this pipeline; nothing was written."""

    exit_code = 3


class DataError(PenstockError):
    """The data broke a rule that stops its flow; the batch was not committed."""


class ExternalError(PenstockError):
    """Something outside failed: a broker, a disk, a download, the JVM."""


class InternalError(PenstockError):
    """A bug of Penstock; the report shows what to send."""


class SeveralErrors(PenstockError):
    """Errors that are reported together: the message has the first ones, each of `errors` its place and its fix."""

    errors: tuple[PenstockError, ...]

    def redact(self, redacted: Callable[[str], str]) -> None:
        """Applies `redacted` to the message and to each of the errors."""
        for error in self.errors:
            error.redact(redacted)
        self.facts["errors"] = _listed(self.errors)  # anew: a line that was cut could end within a secret
        super().redact(redacted)


class PipelineInvalid(SeveralErrors, DefinitionError):
    """All definition errors of one analysis together, direct causes first.

    `downstream` names the datasets that failed only because something that they read failed.
    """

    def __init__(self, errors: Sequence[PenstockError], downstream: Sequence[str] = ()) -> None:
        self.errors = tuple(errors)
        self.downstream = tuple(downstream)
        count, after = len(self.errors), len(self.downstream)
        super().__init__("PIPELINE_INVALID", count=count, errors=_listed(self.errors), downstream=after)

    def __reduce__(self) -> tuple[Any, ...]:
        return PipelineInvalid, (self.errors, self.downstream)


class UpdateRefused(SeveralErrors, StateError):
    """All that keeps one update from running, together; nothing was written."""

    def __init__(self, errors: Sequence[PenstockError]) -> None:
        self.errors = tuple(errors)
        super().__init__("UPDATE_REFUSED", count=len(self.errors), errors=_listed(self.errors))

    def __reduce__(self) -> tuple[Any, ...]:
        return UpdateRefused, (self.errors,)


_LISTED, _LONGEST = 3, 300


def _listed(errors: Sequence[PenstockError]) -> str:
    """Returns the first errors as one line, for logs and alerts; who reads them has no terminal with all of them."""
    lines = []
    for error in errors[:_LISTED]:
        place = "" if error.location is None else f" ({error.location})"
        lines.append(clean(f"[{error.condition}] {error.message}", limit=_LONGEST).rstrip(".") + place)
    more = len(errors) - _LISTED
    return "; ".join([*lines, f"and {plural(more, 'other')}"] if more > 0 else lines)


_NO_DESCRIPTOR = {errno.EMFILE, errno.ENFILE}
_NO_THREAD = ("can't start new thread", "unable to create native thread")


def exhaustion(error: BaseException) -> ExternalError | None:
    """Returns OPEN_FILES_EXHAUSTED or THREADS_EXHAUSTED when `error`, or what caused it, says so; else None."""
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        seen.append(cause)
        if isinstance(cause, OSError) and cause.errno in _NO_DESCRIPTOR:
            return ExternalError("OPEN_FILES_EXHAUSTED", detail=cause)
        if any(text in str(cause) for text in _NO_THREAD):
            return ExternalError("THREADS_EXHAUSTED", detail=str(cause))
        cause = cause.__cause__ or cause.__context__
    return None

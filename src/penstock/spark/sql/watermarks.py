"""What is wrong with a WATERMARK clause that Spark refuses: as `withWatermark` says it, at its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pyspark.errors import IllegalArgumentException, ParseException, PySparkException

from penstock.errors import DefinitionError, StatementPosition, did_you_mean
from penstock.graph.sql.tokens import Token, TokenKind
from penstock.spark.failures.causes import reason_of
from penstock.spark.failures.statement_places import statement_position
from penstock.spark.sql.scanner import Words

_UNIT: Final = re.compile(r"(?i)(year|month|week|day|hour|minute|second|millisecond|microsecond)s?|to")
_NEGATIVE: Final = "should not be negative"


@dataclass(frozen=True, slots=True)
class _Clause:
    """`WATERMARK column DELAY OF delay`."""

    column: tuple[Token, ...]
    delay: tuple[Token, ...]


@contextmanager
def naming_refused_watermarks(statement: str) -> Iterator[None]:
    """Raises what is wrong with a watermark of `statement` in the place of Spark's exceptions from inside.

    Raises:
        DefinitionError: WATERMARK_COLUMN_NOT_FOUND, WATERMARK_COLUMN_NOT_TIMESTAMP, WATERMARK_DELAY_INVALID.
    """
    try:
        yield
    except PySparkException as error:
        named = _named(error, statement)
        if named is None:
            raise
        raise named from error


def _named(error: PySparkException, statement: str) -> DefinitionError | None:
    condition, facts = error.getCondition() or "", error.getMessageParameters() or {}
    place = statement_position(error)
    for clause in _clauses(Words(statement).tokens):
        column, delay = _text(statement, clause.column), _text(statement, clause.delay)
        at_column = StatementPosition.of(statement, clause.column[0].start)
        if condition.startswith("UNRESOLVED_COLUMN") and place == at_column:
            known = str(facts.get("proposal", "")).replace("`", "").split(", ")
            suggestion = did_you_mean(column, known, also=f"Its columns are {', '.join(known)}.")
            return DefinitionError("WATERMARK_COLUMN_NOT_FOUND", column=column, suggestion=suggestion).at(place)
        if condition == "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE" and _is_named(clause, facts.get("eventName", "")):
            kind = str(facts.get("eventType", "")).strip('"').lower()
            return DefinitionError("WATERMARK_COLUMN_NOT_TIMESTAMP", column=column, type=kind).at(at_column)
        reason = _reason(error, place, clause, statement)
        if reason is not None:
            at_delay = StatementPosition.of(statement, clause.delay[0].start)
            return DefinitionError("WATERMARK_DELAY_INVALID", delay=delay, reason=reason).at(at_delay)
    return None


def _reason(error: PySparkException, place: StatementPosition | None, clause: _Clause, statement: str) -> str | None:
    """Returns why Spark refuses the delay of a clause, None when it is about something else."""
    if isinstance(error, IllegalArgumentException):
        negative = _NEGATIVE in str(error) and any("-" in token.text for token in clause.delay)
        return reason_of(error).removeprefix("requirement failed: ") if negative else None
    if not isinstance(error, ParseException):
        return None
    if not _UNIT.fullmatch(clause.delay[-1].text):  # Spark complains of what follows it
        return "it does not end with a unit, as in INTERVAL 10 MINUTES"
    inside = any(place == StatementPosition.of(statement, token.start) for token in clause.delay)
    return reason_of(error) if inside else None


def _is_named(clause: _Clause, name: str) -> bool:
    written = "".join(token.text for token in clause.column)
    return written.replace("`", "").rpartition(".")[2].casefold() == name.strip('"`').replace("`", "").casefold()


def _clauses(tokens: list[Token]) -> Iterator[_Clause]:
    for start, token in enumerate(tokens):
        if not token.is_word("WATERMARK"):
            continue
        for at in range(start + 2, len(tokens) - 2):
            if tokens[at].is_word("DELAY") and tokens[at + 1].is_word("OF"):
                yield _Clause(tuple(tokens[start + 1 : at]), tuple(_interval(tokens[at + 2 :])))
                break


def _interval(tokens: list[Token]) -> Iterator[Token]:
    """The tokens of the interval that is there, at least one."""
    for position, token in enumerate(tokens):
        part = token.kind in {TokenKind.NUMBER, TokenKind.STRING} or token.text in {"-", "+", "."}
        if position and not part and not (token.kind is TokenKind.WORD and _UNIT.fullmatch(token.text)):
            return
        yield token


def _text(statement: str, tokens: tuple[Token, ...]) -> str:
    return statement[tokens[0].start : tokens[-1].stop]

"""`(column type …, CONSTRAINT name EXPECT (…) …, PRIMARY KEY (…))` behind a dataset's name."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.declare.sql.protection import read_mask
from penstock.declare.sql.refusals import refuse_clause
from penstock.declare.sql.statements import ColumnList
from penstock.errors import ConfigError, DefinitionError
from penstock.graph.elements import EventTime, Expectation, OnViolation
from penstock.graph.protection import ColumnMask
from penstock.graph.sql.cursor import Cursor, syntax_error, unquoted
from penstock.graph.sql.tokens import TokenKind

_MOST_AHEAD = "1 hour"
_ACTIONS = {"DROP": OnViolation.DROP, "FAIL": OnViolation.FAIL, "QUARANTINE": OnViolation.QUARANTINE}
_ACTIONS_OF_EVENT_TIME = {**_ACTIONS, "WARN": OnViolation.WARN}  # which is not the default
_KEYS = ("PRIMARY", "FOREIGN", "UNIQUE")
_KEY_OF_A_COLUMN = ("PRIMARY", "FOREIGN", "REFERENCES", "CONSTRAINT")
_COLUMN_OPTIONS = ("NOT", "NULL", "COMMENT", "GENERATED", "DEFAULT", *_KEY_OF_A_COLUMN, "MASK")


def read_column_list(cursor: Cursor, *, of_view: bool = False) -> ColumnList:
    """Reads the list, or nothing when no list stands here; that `of_view` holds constraints only.

    Raises:
        DefinitionError: PARSE_SYNTAX_ERROR, UNSUPPORTED_DECLARATION.
    """
    if not cursor.accept("("):
        return ColumnList()
    columns: list[str] = []
    masks: list[ColumnMask] = []
    expectations: list[Expectation] = []
    while True:
        if cursor.at("CONSTRAINT"):
            expectations += _constraint(cursor)
        elif any(cursor.at(word, "KEY") for word in _KEYS) or cursor.at("UNIQUE", "("):
            cursor.skip_to(",", ")")
        elif cursor.at("CHECK", "("):
            refuse_clause(cursor.location, "CHECK")
        elif of_view:
            refuse_clause(cursor.location, "column list of a view")
        else:
            columns.append(_column(cursor, masks))
        # A comma before the closing parenthesis is common in published pipelines.
        if cursor.accept(",") and not cursor.at(")"):
            continue
        if not cursor.accept(")"):
            raise cursor.error("',' or ')'", known=("NOT NULL", "COMMENT", "CONSTRAINT"))
        return ColumnList(", ".join(columns) if columns else None, tuple(expectations), tuple(masks))


def _constraint(cursor: Cursor) -> list[Expectation]:
    place = cursor.location
    cursor.expect("CONSTRAINT")
    name = _constraint_name(cursor)
    if cursor.at("CHECK"):
        refuse_clause(cursor.location, "CHECK")
    if any(cursor.at(word) for word in _KEYS):
        cursor.skip_to(",", ")")
        return []
    if not cursor.accept("EXPECT"):
        raise cursor.error("EXPECT", known=("EXPECT", "PRIMARY", "FOREIGN"))
    if cursor.accept("EVENT", "TIME"):
        rule = _event_time(cursor)
        action = _on_violation(cursor, OnViolation.QUARANTINE, _ACTIONS_OF_EVENT_TIME)
        return [Expectation(name, rule, action, place)]
    predicate = cursor.group()
    if not predicate.text.strip():
        raise syntax_error(predicate.location(0), "')'", "a condition")
    return [Expectation(name, predicate.text.strip(), _on_violation(cursor), place)]


def _event_time(cursor: Cursor) -> EventTime:
    """Reads `column [MAX FUTURE INTERVAL 10 MINUTES]`."""
    from penstock.config import parse_interval  # here: `penstock lint` parses SQL without a pipeline file

    [column] = unquoted((cursor.name("the column of the event time"),))
    if not cursor.accept("MAX", "FUTURE"):
        return EventTime(column, parse_interval(_MOST_AHEAD))
    place = cursor.location
    cursor.expect("INTERVAL")
    text = _length_of_time(cursor)
    try:
        return EventTime(column, parse_interval(text))
    except ConfigError as error:
        raise DefinitionError(error.condition, location=place, **error.facts) from None


def _length_of_time(cursor: Cursor) -> str:
    """Returns what stands behind INTERVAL, each part in quotes or not: `1 HOUR 30 MINUTES`, `'10' MINUTES`."""
    parts = []
    while (token := cursor.peek()) is not None and not (cursor.at(",") or cursor.at(")") or cursor.at("ON")):
        parts.append(cursor.string() if token.kind is TokenKind.STRING else cursor.take().text)
    return " ".join(parts)


def _constraint_name(cursor: Cursor) -> str:
    token = cursor.peek()
    if token is not None and token.kind is TokenKind.STRING:
        return cursor.string()
    return unquoted((cursor.name("the constraint's name"),))[0]


def _on_violation(
    cursor: Cursor, otherwise: OnViolation = OnViolation.WARN, actions: Mapping[str, OnViolation] = _ACTIONS
) -> OnViolation:
    if not cursor.accept("ON"):
        return otherwise
    if not cursor.accept("VIOLATION"):
        raise cursor.error("VIOLATION", known=("VIOLATION",))
    for word, action in actions.items():
        if cursor.at(word):
            cursor.take()
            if not cursor.accept("ROW"):
                cursor.accept("UPDATE")
            return action
    raise cursor.error("DROP ROW, FAIL UPDATE or QUARANTINE", known=actions)


def _column(cursor: Cursor, masks: list[ColumnMask]) -> str:
    """Returns one column in DDL, keys and references left out, and adds its mask to `masks`."""
    column = cursor.name("a column or CONSTRAINT")
    if cursor.at(",") or cursor.at(")") or cursor.at("COMMENT"):
        raise cursor.error(f"the type of column '{column}'")
    parts = [column, _type(cursor)]
    while not (cursor.at(",") or cursor.at(")")):
        if cursor.at("MASK"):
            masks.append(read_mask(cursor, column))
        else:
            parts += _column_option(cursor)
    return " ".join(parts)


def _type(cursor: Cursor) -> str:
    """Returns a type as it is written, e.g. `DECIMAL(10, 2)`, `MAP<STRING, INT>`, `INTERVAL DAY TO SECOND`."""
    start = cursor.start
    if cursor.at("INTERVAL"):
        cursor.skip_to(",", ")", *_COLUMN_OPTIONS)
        return cursor.text_since(start)
    cursor.name("a type")
    if cursor.at("(") or cursor.at("<"):
        cursor.skip_group()
    if cursor.accept("COLLATE"):
        cursor.name("a collation")
    return cursor.text_since(start)


def _column_option(cursor: Cursor) -> list[str]:
    start = cursor.start
    if cursor.accept("NOT", "NULL"):
        return ["NOT NULL"]
    if cursor.accept("NULL"):
        return []
    if cursor.accept("COMMENT"):
        cursor.string()
        return [cursor.text_since(start)]
    if cursor.at("DEFAULT"):
        refuse_clause(cursor.location, "DEFAULT")
    if cursor.accept("GENERATED"):
        cursor.skip_to(",", ")", "NOT", "COMMENT", *_KEY_OF_A_COLUMN, "MASK")
        return [cursor.text_since(start)]
    if any(cursor.accept(word) for word in _KEY_OF_A_COLUMN):
        cursor.skip_to(",", ")", "COMMENT", "GENERATED", "MASK")
        return []
    raise cursor.error("',', ')' or an option of the column", known=_COLUMN_OPTIONS)

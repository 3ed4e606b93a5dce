"""One statement of a SQL file: which it is, and the parser of its kind."""

from __future__ import annotations

from dataclasses import replace

from penstock.declare.sql.create import (
    read_change_flow,
    read_create_flow,
    read_create_table,
    read_create_view,
    with_dataset,
)
from penstock.declare.sql.refusals import (
    CREATIONS_WITHOUT_EFFECT,
    EMPTY_TABLE,
    PLAIN_TABLE,
    REFUSED_CREATIONS,
    REFUSED_STATEMENTS,
    STATEMENTS_WITHOUT_EFFECT,
    passes_over,
    refuse_grant,
    refuse_statement,
    unsupported,
)
from penstock.declare.sql.statements import CreateTable, SetParameter, Statement, TableKind, UseSchema, WithoutEffect
from penstock.errors import DefinitionError, SourceLocation
from penstock.graph.identifier import split_name
from penstock.graph.sql.cursor import Cursor, syntax_error, unquoted
from penstock.graph.sql.placed_text import PlacedText

_MODIFIERS = ("PRIVATE", "TEMPORARY", "TEMP", "STREAMING", "INCREMENTAL", "LIVE")
_KEYS_ONLY = "a pipeline's SQL file sets configuration keys only"
_REPLACED = (
    "a streaming table keeps its rows from run to run",
    "Write OR REFRESH; 'penstock run --full-refresh' computes the table again",
)
_NOUNS = ("TABLE", "MATERIALIZED", "VIEW", "FLOW")
_KNOWN = (
    "CREATE",
    "APPLY",
    "SET",
    "USE",
    "EXPLAIN",
    "GRANT",
    "REVOKE",
    *STATEMENTS_WITHOUT_EFFECT,
    *REFUSED_STATEMENTS,
)


def parse(source: PlacedText) -> Statement:
    """Returns what a statement says; parameters are substituted already.

    Raises:
        DefinitionError: PARSE_SYNTAX_ERROR and the like, at the token that is wrong; `dataset` is what
            the statement would have declared, when its name could be read.
    """
    cursor = Cursor(source)
    place = cursor.location
    if cursor.accept("CREATE"):
        return _create(cursor, place)
    if cursor.at("APPLY") or cursor.at("AUTO", "CDC"):
        return read_change_flow(cursor, None, None, place=place)
    if cursor.accept("SET"):
        return _set(cursor)
    if cursor.accept("USE"):
        return _use(cursor)
    if cursor.accept("EXPLAIN"):
        return _explain(cursor)
    if passes_over(cursor, STATEMENTS_WITHOUT_EFFECT):
        return WithoutEffect()
    refuse_grant(cursor)
    refuse_statement(cursor, REFUSED_STATEMENTS)
    raise cursor.error("a statement that declares part of a pipeline", known=_KNOWN)


def _create(cursor: Cursor, place: SourceLocation) -> Statement:
    replaces = cursor.location if cursor.at("OR", "REPLACE") else None
    if cursor.at("OR") and not (cursor.accept("OR", "REFRESH") or cursor.accept("OR", "REPLACE")):
        cursor.expect("OR")
        raise cursor.error("REFRESH", known=("REFRESH", "REPLACE"))
    modifiers = _accepted_modifiers(cursor)
    if passes_over(cursor, CREATIONS_WITHOUT_EFFECT) or _is_empty_table(cursor, modifiers):
        return WithoutEffect()
    refuse_statement(cursor, REFUSED_CREATIONS)
    if cursor.accept("FLOW"):
        return read_create_flow(cursor, _flow_name(cursor), place=place)
    kind = _table_kind(cursor, modifiers)
    if kind is TableKind.STREAMING_TABLE and replaces is not None:
        raise unsupported(replaces, "OR REPLACE", _REPLACED)
    cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.name("a name")
    try:
        if kind is None:
            return read_create_view(cursor, name, place=place)
        private = bool({"PRIVATE", "TEMPORARY", "TEMP"} & modifiers)
        return replace(read_create_table(cursor, name, kind, place=place, private=private), replaces=replaces)
    except DefinitionError as error:
        raise with_dataset(error, name) from None


def _is_empty_table(cursor: Cursor, modifiers: set[str]) -> bool:
    """Whether it is CREATE TABLE without a query, as notebooks make for their own use; then there is a notice."""
    if not cursor.at("TABLE") or modifiers or cursor.has("AS"):
        return False
    return passes_over(cursor, EMPTY_TABLE)


def _accepted_modifiers(cursor: Cursor) -> set[str]:
    found: set[str] = set()
    while modifier := next((word for word in _MODIFIERS if cursor.accept(word)), None):
        found.add(modifier)
    return found


def _table_kind(cursor: Cursor, modifiers: set[str]) -> TableKind | None:
    """Moves over the noun and returns the kind of table; None is a view."""
    if cursor.accept("MATERIALIZED"):
        if not cursor.accept("VIEW"):
            raise cursor.error("VIEW", known=("VIEW",))
        return TableKind.MATERIALIZED_VIEW
    if cursor.accept("VIEW"):
        return None
    if cursor.at("TABLE"):
        if not modifiers & {"STREAMING", "INCREMENTAL", "LIVE"}:
            refuse_statement(cursor, PLAIN_TABLE)
        cursor.expect("TABLE")
        is_stream = modifiers & {"STREAMING", "INCREMENTAL"}
        return TableKind.STREAMING_TABLE if is_stream else TableKind.MATERIALIZED_VIEW
    raise cursor.error(
        "STREAMING TABLE, MATERIALIZED VIEW, TEMPORARY VIEW, VIEW or FLOW", known=(*_NOUNS, *_MODIFIERS, "OR")
    )


def _flow_name(cursor: Cursor) -> str:
    cursor.accept("IF", "NOT", "EXISTS")
    place = cursor.location
    name = cursor.name("the flow's name")
    (plain,) = unquoted((name,))
    if plain == name and "." in name:
        raise syntax_error(place, f"'{name}'", "a name without a schema")
    return plain


def explained_view(source: PlacedText) -> CreateTable | None:
    """Returns the materialized view that a statement explains, None for any other statement.

    Raises:
        DefinitionError: as `parse`, for EXPLAIN CREATE MATERIALIZED VIEW.
    """
    cursor = Cursor(source)
    if not cursor.accept("EXPLAIN"):
        return None
    _accept_form(cursor)
    if not cursor.has("MATERIALIZED"):
        return None  # Spark's alone, perhaps
    statement = parse(cursor.rest())
    if isinstance(statement, CreateTable) and statement.kind is TableKind.MATERIALIZED_VIEW:
        return statement
    return None


def _explain(cursor: Cursor) -> WithoutEffect:
    _accept_form(cursor)
    parse(cursor.rest())
    return WithoutEffect()


def _accept_form(cursor: Cursor) -> None:
    for word in ("EXTENDED", "FORMATTED", "CODEGEN", "COST"):
        cursor.accept(word)


def _set(cursor: Cursor) -> SetParameter:
    """Reads what follows SET. The value is everything behind `=`, quotes included, as on Databricks."""
    place = cursor.location
    if cursor.at("TIME", "ZONE"):
        raise unsupported(place, "SET TIME ZONE", (_KEYS_ONLY, "Write SET spark.sql.session.timeZone = zone"))
    if cursor.at("VAR") or cursor.at("VARIABLE"):
        instead = "Write SET key = value, and ${key} where the value is used"
        raise unsupported(place, "SET VARIABLE", (_KEYS_ONLY, instead))
    if cursor.at_end():
        raise cursor.error("a key")
    start = cursor.start
    while not cursor.at_end() and not cursor.at("="):
        cursor.take()
    key = cursor.text_since(start).strip("`")
    if any(blank in key for blank in " \t\n"):
        raise syntax_error(cursor.source.location(start), f"'{key}'", "key = value")
    if not cursor.accept("="):
        return SetParameter(key, None)
    return SetParameter(key, cursor.rest().text if not cursor.at_end() else "")


# USE CATALOG name, USE [SCHEMA | DATABASE | NAMESPACE] [catalog.]name.
def _use(cursor: Cursor) -> UseSchema:
    if cursor.at("CATALOG") and cursor.peek(1) is not None:
        cursor.expect("CATALOG")
        catalog = cursor.name("the catalog's name")
        cursor.finish("the end of the statement")
        return UseSchema(None, split_name(catalog)[-1])
    if cursor.peek(1) is not None:
        for word in ("SCHEMA", "DATABASE", "NAMESPACE"):
            if cursor.accept(word):
                break
    name = cursor.name("the schema's name")
    cursor.finish("the end of the statement")
    parts = split_name(name)
    return UseSchema(parts[-1], parts[-2] if len(parts) > 1 else None)

"""SET of a parameter, and USE of a schema or a catalog."""

from __future__ import annotations

from penstock.declare.sql.cursor import Cursor, syntax_error
from penstock.declare.sql.refusals import unsupported
from penstock.declare.sql.statements import SetParameter, UseSchema
from penstock.graph.identifier import split_name

_KEYS_ONLY = "a pipeline's SQL file sets configuration keys only"


# SET key = value, and a SET that only shows a value.
def read_set(cursor: Cursor) -> SetParameter:
    """Reads what follows SET. The value is everything behind `=`, quotes included, as on Databricks.

    Raises:
        DefinitionError: PARSE_SYNTAX_ERROR, UNSUPPORTED_DECLARATION.
    """
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
def read_use(cursor: Cursor) -> UseSchema:
    """Reads what follows USE.

    Raises:
        DefinitionError: PARSE_SYNTAX_ERROR, INVALID_DATASET_NAME.
    """
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

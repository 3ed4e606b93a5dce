"""USE CATALOG name, USE [SCHEMA | DATABASE | NAMESPACE] [catalog.]name."""

from __future__ import annotations

from penstock.declare.sql.cursor import Cursor
from penstock.declare.sql.statements import UseSchema
from penstock.graph.identifier import split_name


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

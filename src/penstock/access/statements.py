"""GRANT, REVOKE and SHOW GRANTS, as Databricks spells them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock.access.grants import SELECT, Securable
from penstock.access.sight import EVENT_LOG
from penstock.errors import DefinitionError
from penstock.graph.identifier import DefaultSchema, Identifier, split_name
from penstock.graph.sql.cursor import Cursor
from penstock.graph.sql.placed_text import PlacedText

_ALL: Final = "ALL PRIVILEGES"
_IMPLIED: Final = ("USE CATALOG", "USE SCHEMA", "BROWSE", "USAGE", "READ_METADATA")
"""What needs no grant here: to name a catalog or a schema, and to see which tables there are."""

_PRIVILEGES: Final = (SELECT, _ALL, *_IMPLIED)
_OTHERS: Final = (
    "APPLY TAG",
    "CREATE",
    "EXECUTE",
    "MANAGE",
    "MODIFY",
    "READ VOLUME",
    "REFRESH",
    "WRITE VOLUME",
)
"""Privileges of Databricks that nothing here could enforce."""

_KINDS: Final = ("TABLE", "VIEW", "MATERIALIZED VIEW", "STREAMING TABLE", "SCHEMA", "DATABASE", "CATALOG")
_EXAMPLE: Final = "GRANT SELECT ON TABLE orders TO analysts"


@dataclass(frozen=True, slots=True)
class ChangeGrant:
    """GRANT or REVOKE of SELECT; `implied` are the other privileges it names, which need no grant.

    `selects` is False when it names only such.
    """

    granted: bool
    selects: bool
    implied: tuple[str, ...]
    securable: Securable
    principal: str


@dataclass(frozen=True, slots=True)
class ShowGrants:
    """SHOW GRANTS; None stands for all."""

    principal: str | None
    securable: Securable | None


def parse_statement(text: str, *, default_schema: str) -> ChangeGrant | ShowGrants | None:
    """Returns what a statement says about grants, None when it is another statement.

    Args:
        text: the statement.
        default_schema: of tables without a schema; a `DefaultSchema` also says which catalog is the pipeline's own.

    Raises:
        DefinitionError: PARSE_SYNTAX_ERROR, PRIVILEGE_UNSUPPORTED, INVALID_DATASET_NAME.
    """
    cursor = Cursor(PlacedText.of(text, "<statement>"))
    if cursor.accept("GRANT"):
        return _change(cursor, default_schema, granted=True)
    if cursor.accept("REVOKE"):
        return _change(cursor, default_schema, granted=False)
    if cursor.accept("SHOW", "GRANTS") or cursor.accept("SHOW", "GRANT"):
        principal = None if cursor.at_end() or cursor.at("ON") else _principal(cursor)
        securable = _securable(cursor, default_schema) if cursor.accept("ON") else None
        cursor.finish("the end of the statement")
        return ShowGrants(principal, securable)
    return None


def _change(cursor: Cursor, default_schema: str, *, granted: bool) -> ChangeGrant:
    privileges = [_privilege(cursor)]
    while cursor.accept(","):
        privileges.append(_privilege(cursor))
    cursor.expect("ON")
    securable = _securable(cursor, default_schema)
    cursor.expect("TO" if granted else "FROM")
    principal = _principal(cursor)
    cursor.finish("the end of the statement")
    implied = tuple(each for each in privileges if each in _IMPLIED)
    return ChangeGrant(granted, len(implied) < len(privileges), implied, securable, principal)


def _privilege(cursor: Cursor) -> str:
    for known in (*_PRIVILEGES, *_OTHERS):
        if cursor.accept(*known.split()):
            if known in _OTHERS:
                raise DefinitionError("PRIVILEGE_UNSUPPORTED", privilege=known)
            return known
    raise cursor.error(f"a privilege: {SELECT} or {_ALL}", known=(SELECT, _ALL))


def _securable(cursor: Cursor, default_schema: str) -> Securable:
    kind = next((known for known in _KINDS if _at_kind(cursor, known)), "TABLE")
    if _at_kind(cursor, kind):
        cursor.accept(*kind.split())
    name = cursor.name("the name of a table, schema or catalog")
    own = default_schema.catalog if isinstance(default_schema, DefaultSchema) else None
    parts = split_name(name)
    if kind == "TABLE" and [part.casefold() for part in parts] == [EVENT_LOG.name]:
        return Securable.of_table(EVENT_LOG)
    if kind == "CATALOG" and len(parts) == 1:
        return Securable(None if parts[0].casefold() == (own or "spark_catalog").casefold() else parts[0])
    if kind in {"SCHEMA", "DATABASE"} and len(parts) < 3:
        schema = Identifier.parse(f"{name}.x", default_schema=default_schema)
        return Securable(schema.catalog, schema.schema)
    if kind in {"CATALOG", "SCHEMA", "DATABASE"}:
        raise DefinitionError("INVALID_DATASET_NAME", name=name)
    return Securable.of_table(Identifier.parse(name, default_schema=default_schema))


def _at_kind(cursor: Cursor, kind: str) -> bool:
    """Whether a kind stands here, and not a table whose name is that word."""
    words = kind.split()
    follows = cursor.peek(len(words))
    is_name = follows is None or follows.text == "." or follows.is_word("TO") or follows.is_word("FROM")
    return cursor.at(*words) and not is_name


def _principal(cursor: Cursor) -> str:
    name = cursor.name("the name of a role or user")
    parts = split_name(name)
    if len(parts) > 1:  # ada@example.com must be quoted, and so must ada.b
        raise cursor.error(f"a name in backquotes: `{name}`")
    return parts[0]

"""GRANT, REVOKE and SHOW GRANTS of `penstock sql`, which need no Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from penstock.cli.screen.console import note

if TYPE_CHECKING:
    from penstock.access.grants import Securable
    from penstock.access.statements import ChangeGrant
    from penstock.config import PipelineConfig

_COLUMNS: Final = ["principal", "action_type", "object_type", "object_key"]
"""Databricks' columns of SHOW GRANTS."""


def about_grants(config: PipelineConfig, statement: str) -> tuple[list[str], list[tuple[Any, ...]]] | None:
    """Runs a statement about grants and returns its columns and rows; None for any other statement.

    Raises:
        DefinitionError: PARSE_SYNTAX_ERROR, PRIVILEGE_UNSUPPORTED, INVALID_DATASET_NAME.
        ConfigError: TABLE_NOT_FOUND, for a GRANT; the storage cannot be written.
        StateError: GRANTS_DAMAGED.
    """
    from penstock.access.statements import ChangeGrant, parse_statement
    from penstock.access.store import access_of, shown_grants

    parsed = parse_statement(statement, default_schema=config.schema)
    if parsed is None:
        return None
    if isinstance(parsed, ChangeGrant):
        _change(config, parsed)
        return [], []
    return _COLUMNS, shown_grants(access_of(config.storage, config.access), parsed.principal, parsed.securable)


def _change(config: PipelineConfig, change: ChangeGrant) -> None:
    from dataclasses import replace

    from penstock.access.grants import SELECT, principal_sql
    from penstock.access.store import access_of, record_grant

    if change.implied:
        note(f"{', '.join(change.implied)}: needs no grant here")
    if not change.selects:
        return
    before = access_of(config.storage, config.access)  # a damaged record is not written on
    change = replace(change, securable=_stored(config, change.securable) if change.granted else change.securable)
    record_grant(config, change)
    verb, towards = ("Granted", "to") if change.granted else ("Revoked", "from")
    on = change.securable
    note(f"{verb} {SELECT} on {on.kind} {on} {towards} {principal_sql(change.principal)}")
    if change.granted and change.principal not in config.access.roles:
        note(_not_a_role(change.principal, list(config.access.roles)))
    if change.granted and on not in before.grants.by_securable and not config.access.default_deny:
        note(f"From now on, only those with a grant read {_what(on)}")


def _stored(config: PipelineConfig, on: Securable) -> Securable:
    """Returns the table that a GRANT names: of a misspelt name the wrong table would stay open."""
    from penstock.access.grants import Securable
    from penstock.access.sight import EVENT_LOG
    from penstock.graph.identifier import Identifier
    from penstock.observe.log.followed_log import read_definitions
    from penstock.observe.stored.tables import find_table

    if on.table is None or on == Securable.of_table(EVENT_LOG):
        return on
    name = str(Identifier(str(on.schema), on.table, on.catalog))
    found = find_table(config.storage, name, default_schema=config.schema, events=read_definitions(config.storage))
    return Securable.of_table(found.identifier)


def _not_a_role(principal: str, roles: list[str]) -> str:
    from penstock.errors import did_you_mean

    hint = did_you_mean(principal, roles)
    return f"{principal} is no role of the pipeline file, so it is taken for a user's name. {hint}".rstrip()


def _what(on: Securable) -> str:
    return f"{on}" if on.table is not None else f"the tables of {on.kind.lower()} {on}"

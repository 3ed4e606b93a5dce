"""What commands that show rows or events do first: check what the reader may see, and record who sees rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from penstock.cli.screen.console import note
from penstock.errors import StateError

if TYPE_CHECKING:
    from penstock.access.sight import Sight
    from penstock.config import PipelineConfig
    from penstock.events.log.audit import Actor
    from penstock.events.log.reads import ReadAudit
    from penstock.graph.identifier import Identifier

_LONGEST: Final = 4000
"""Characters of a statement."""


def read_audit(config: PipelineConfig) -> ReadAudit:
    """Returns what records the reads of a pipeline's storage."""
    from penstock.events.log.reads import ReadAudit

    return ReadAudit(config.storage, config.name, config.audit.reads, config.audit.required)


def record_read(
    config: PipelineConfig, command: str, tables: Iterable[Identifier], rows: int, request: Mapping[str, Any]
) -> None:
    """Records that `command` is about to show rows of `tables`, or says on stderr why that is not recorded.

    `request` has what was requested besides; what is None is left out, and a `statement` loses its secrets.

    Raises:
        StateError: INSUFFICIENT_PERMISSIONS, GRANTS_DAMAGED; READ_NOT_RECORDED, where the pipeline requires the record.
    """
    names, check = sorted(tables), read_check(config, command, request)
    for table in names:
        check(table)
    _record(config, map(str, names), rows, {"command": command, **request})


def read_check(config: PipelineConfig, command: str, request: Mapping[str, Any]) -> Callable[[Identifier], None]:
    """Returns what raises unless the account of this process may read a table; a refusal is recorded.

    It reads the grants once, when it is first called, and raises StateError INSUFFICIENT_PERMISSIONS, GRANTS_DAMAGED.
    """
    from penstock.access.store import access_of
    from penstock.events.log.audit import account

    grants = cache(lambda: access_of(config.storage, config.access))

    def check(table: Identifier) -> None:
        try:
            grants().check(account(), [table])
        except StateError as refused:
            if refused.dataset is not None:
                _record(config, [refused.dataset], 0, {"command": command, **request, "refused": refused.condition})
            raise

    return check


def event_sight(config: PipelineConfig) -> Sight:
    """Returns what the account of this process sees of the event log; says on stderr when that is not all.

    Raises:
        StateError: GRANTS_DAMAGED.
    """
    from penstock.access.sight import everything
    from penstock.access.store import access_of
    from penstock.events.log.audit import account

    sight = access_of(config.storage, config.access).sight(account())
    if sight is not everything:
        note("Without the tables that you may not read; a grant on event_log shows them (see SHOW GRANTS).")
    return sight


def record_served_read(
    config: PipelineConfig, by: Actor, tables: Iterable[str], rows: int, request: Mapping[str, Any]
) -> None:
    """Records what a client of the SQL endpoint is about to see, or is refused, as `record_read`."""
    _record(config, tables, rows, {"command": "serve", **request}, by=by)


def _record(
    config: PipelineConfig,
    tables: Iterable[str],
    rows: int,
    request: Mapping[str, Any],
    *,
    by: Actor | None = None,
) -> None:
    from penstock.events.redaction import shown_statement

    given = {name: value for name, value in request.items() if value is not None}
    if "statement" in given:
        given["statement"] = shown_statement(config.redact(given["statement"]))[:_LONGEST]
    reason = read_audit(config).record(list(tables), rows, given, by=by)
    if reason is not None:
        note(f"This read is not recorded (see penstock audit): {reason}")

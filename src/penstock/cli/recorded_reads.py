"""What commands that show rows do first: record who is about to see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from penstock.cli.screen.console import note

if TYPE_CHECKING:
    from penstock.config import PipelineConfig
    from penstock.events.log.audit import Actor
    from penstock.events.log.reads import ReadAudit

_LONGEST: Final = 4000
"""Characters of a statement."""


def read_audit(config: PipelineConfig) -> ReadAudit:
    """Returns what records the reads of a pipeline's storage."""
    from penstock.events.log.reads import ReadAudit

    return ReadAudit(config.storage, config.name, config.audit.reads, config.audit.required)


def record_read(
    config: PipelineConfig,
    command: str,
    tables: Iterable[object],
    rows: int,
    request: Mapping[str, Any],
    *,
    by: Actor | None = None,
) -> None:
    """Records that `command` is about to show rows of `tables`, or says on stderr why that is not recorded.

    `request` has what was requested besides; what is None is left out, and a `statement` loses its secrets. `by` is who
    reads, unless it is who started the command.

    Raises:
        StateError: READ_NOT_RECORDED, where the pipeline requires the record.
    """
    from penstock.events.redaction import shown_statement

    given = {name: value for name, value in request.items() if value is not None}
    if "statement" in given:
        given["statement"] = shown_statement(config.redact(given["statement"]))[:_LONGEST]
    reason = read_audit(config).record(sorted(map(str, tables)), rows, {"command": command, **given}, by=by)
    if reason is not None:
        note(f"This read is not recorded (see penstock audit): {reason}")

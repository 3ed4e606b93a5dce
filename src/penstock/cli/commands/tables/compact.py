"""`penstock compact`: drops old events whose totals are enough, and what a run does of that by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import AsJson
from penstock.cli.project import Project, project_command
from penstock.cli.screen.console import note, plural, print_json, say
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock.config import PipelineConfig


@project_command(scripts=True)
def compact(
    *,
    config: Project,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="INTERVAL", help='Instead of event_log.retention, e.g. "7 days".'),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Drop events of the log that are older than its retention; their totals stay.

    What `status`, accounting, alerts and checkpoints say stays the same, and so does the record of `penstock audit`.
    The newest update stays whole. Refused while a run works; runs do it by themselves when there is enough to drop.
    """
    from dataclasses import asdict

    from penstock.config.values.interval import parse_interval
    from penstock.events import EventLog, EventType, builders, new_update_id
    from penstock.observe.log.retention import Compacted
    from penstock.observe.log.retention import compact as compact_log
    from penstock.storage import lock_for_command

    seconds = config.event_log_retention if older_than is None else parse_interval(older_than)
    done = Compacted(0, 0, 0, 0)
    if seconds is not None:
        with (
            lock_for_command(config.storage),
            EventLog.open(config.storage, pipeline_name=config.name, update_id=new_update_id()) as log,
        ):
            before = datetime.now(UTC) - timedelta(seconds=seconds)
            log.append(
                EventType.USER_ACTION,
                *builders.user_action("COMPACT_EVENT_LOG", arguments={"before": before.isoformat()}),
            )
            done = compact_log(config.storage, before)
    if as_json:
        print_json(asdict(done))
    elif seconds is None:
        say("event_log.retention is 'keep': nothing is dropped; --older-than INTERVAL drops all the same.")
    elif not done.dropped:
        say("No event to drop.")
    else:
        say(
            f"{plural(done.dropped, 'event')} dropped, {done.kept:,} of that time kept with the totals: "
            f"{_mebibytes(done.bytes_before)} became {_mebibytes(done.bytes_after)}"
        )


def compact_when_due(config: PipelineConfig) -> None:
    """Drops old events before a run, for some seconds at most; errors are reported, and do not stop the run."""
    from penstock.observe.log.retention import AT_ONCE, is_due
    from penstock.observe.log.retention import compact as compact_log
    from penstock.storage import lock_for_command

    if config.event_log_retention is None:
        return
    before = datetime.now(UTC) - timedelta(seconds=config.event_log_retention)
    try:
        if is_due(config.storage, before):
            with lock_for_command(config.storage):
                compact_log(config.storage, before, most_bytes=AT_ONCE)
    except (PenstockError, OSError) as error:
        note(f"The event log was not compacted: {error}")


def _mebibytes(size: int) -> str:
    return f"{size / (1 << 20):,.1f} MiB"

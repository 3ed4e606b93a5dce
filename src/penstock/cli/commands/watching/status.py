"""`penstock status`: how the newest update went or goes, per dataset, from the event log."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.options import AsJson
from penstock.cli.project import Project, project_command
from penstock.cli.recorded_reads import event_sight
from penstock.cli.screen.console import print_json


@project_command(scripts=True)
def status(
    *,
    config: Project,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Keep it up to date until Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the state of the pipeline and of each dataset: rows, rates, expectations, errors.

    Reads the event log, so it works during a run, after a crash and on a copy, in a quarter of a second; on the
    machine of a run that goes on, also whether that has file descriptors left. `--watch` draws it anew in a terminal,
    and prints it whenever it changes elsewhere; with `--json` a line each time.
    """
    from penstock.cli.screen.status_view import report
    from penstock.cli.screen.watching import watch as keep_showing
    from penstock.observe.current import with_resources
    from penstock.observe.log.followed_log import FollowedLog
    from penstock.observe.status.pipeline_status import PipelineStatus, StatusProjection

    log = FollowedLog(config.storage, StatusProjection, event_sight(config))

    def look() -> PipelineStatus:
        holder = log.holder()  # before the log is read: a run that begins meanwhile is not taken for dead
        alive = holder is not None and holder.alive()
        return with_resources(log.look().status(writer_alive=alive), holder)

    if watch:
        keep_showing(look, report, document=PipelineStatus.to_json if as_json else None)
    elif as_json:
        print_json(look().to_json())
    else:
        report(look()).print()

"""`penstock plan`: exactly what `penstock run` would do, and why."""

from __future__ import annotations

import typer

from penstock.cli.dev_session.client import answered_by_session
from penstock.cli.options import AsJson, Batch, FullRefresh, FullRefreshAll, Refresh, selection
from penstock.cli.project import Project, enter, project_command
from penstock.cli.screen.console import note, print_json, progress_lines, say
from penstock.cli.screen.quiet_stdout import only_results_on_stdout
from penstock.errors import UpdateRefused, render


@answered_by_session
@project_command(settings=True)
def plan(
    *,
    config: Project,
    refresh: Refresh = None,
    full_refresh: FullRefresh = None,
    full_refresh_all: FullRefreshAll = False,
    batch: Batch = False,
    as_json: AsJson = False,
) -> None:
    """Print what `penstock run` with the same flags would do, step by step; nothing is written."""
    from penstock.plan.explain import render_plan

    chosen = selection(refresh, full_refresh, full_refresh_all)
    if batch:
        config = config.as_batch()
    enter(config)
    from penstock.runtime import plan_update

    with only_results_on_stdout():
        planned = plan_update(config, chosen, progress=progress_lines())
    if as_json:
        print_json(planned.plan.to_json())
    else:
        say(render_plan(planned.plan))
    if planned.plan.refusals:
        refused = UpdateRefused(planned.plan.refusals)
        note(render(refused))
        raise typer.Exit(refused.exit_code)

"""`penstock graph`: who feeds whom, drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import AsJson
from penstock.cli.project import Project, enter, project_command
from penstock.cli.recorded_reads import event_sight
from penstock.cli.screen.console import note, print_json, progress_lines, say
from penstock.cli.screen.quiet_stdout import only_results_on_stdout
from penstock.errors import ConfigError

if TYPE_CHECKING:
    from penstock.config import PipelineConfig
    from penstock.observe.lineage import Lineage


@project_command(settings=True)
def graph(
    *,
    config: Project,
    mermaid: Annotated[
        bool, typer.Option("--mermaid", help="Print a Mermaid diagram, for a README or a wiki.")
    ] = False,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write an SVG picture.")] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Analyse the pipeline's files now (starts Spark) instead of the last run.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Draw the pipeline: sources, tables and views, and what reads what.

    The drawing is that of the last run. Before the first run the pipeline's files are analysed, which starts Spark.
    """
    from penstock.observe.drawing import to_mermaid, to_svg, to_terminal

    target = svg.absolute() if svg is not None else None
    lineage = _recorded(config) if not fresh else None
    if lineage is None:
        lineage = _analysed(config)
    if target is not None:
        try:
            target.write_text(to_svg(lineage), encoding="utf-8")
        except OSError as error:
            raise ConfigError("FILE_NOT_WRITABLE", path=target, reason=error.strerror or error) from error
        note(f"Wrote {target}")
    if as_json:
        print_json(
            {
                "nodes": [
                    {"name": node.name, "kind": node.kind.value, "label": node.label, "detail": node.detail}
                    for node in lineage.nodes
                ],
                "edges": [{"from": edge.upstream, "to": edge.downstream} for edge in lineage.edges],
            }
        )
    elif mermaid:
        say(to_mermaid(lineage))
    elif target is None:
        say(to_terminal(lineage))


def _recorded(config: PipelineConfig) -> Lineage | None:
    """Returns what the reader sees of the event log's lineage, or None before the first run."""
    from penstock.access.sight import everything
    from penstock.observe.lineage import LineageWithStatus
    from penstock.observe.log.followed_log import FollowedLog

    sight = event_sight(config)
    lineage = FollowedLog(config.storage, LineageWithStatus, sight).look().lineage()
    return lineage if lineage.nodes or sight is not everything else None


def _analysed(config: PipelineConfig) -> Lineage:
    """Analyses the pipeline's files with Spark."""
    from penstock.observe.lineage import lineage_of_graph
    from penstock.plan.selection import RefreshSelection

    enter(config)
    from penstock.runtime import plan_update

    with only_results_on_stdout():
        return lineage_of_graph(plan_update(config, RefreshSelection(), progress=progress_lines()).graph)

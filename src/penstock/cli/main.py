"""`penstock`: the commands, and how each of them ends.

Exit codes: 0 done, 1 the pipeline failed, 2 the definition, the configuration or the command line is
wrong, 3 the state refused (lock, checkpoint, table).
"""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from penstock.cli.commands.checkpoints import (
    checkpoint,
    checkpoint_changes,
    checkpoint_repartition,
    checkpoint_rewind,
    replay_batch,
    state,
)
from penstock.cli.commands.project import deploy, explain, graph, init, lint, plan, run_tests, setup, stubs, validate
from penstock.cli.commands.running import run, script, serve, ui
from penstock.cli.commands.tables import adopt, compact, compare, drop, late, maintenance, quarantine, show, sql
from penstock.cli.commands.watching import alerts, audit, cost, doctor, events, metrics, status, top, tune, watermark
from penstock.cli.screen.repeated_messages import limit_repeated_messages
from penstock.cli.stopping import end_quickly, interruptible

DEBUG_VARIABLE = "PENSTOCK_DEBUG"


class Command(TyperCommand):
    """A command whose errors become a message and an exit code, with a stack trace only for `--debug`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Takes `--debug` behind the command as well as before it."""
        words = args[: args.index("--")] if "--" in args else args
        if "--debug" in words:
            args.remove("--debug")
            ctx.find_root().params["debug"] = True
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Runs the command."""
        debug = bool(os.environ.get(DEBUG_VARIABLE)) or bool(ctx.find_root().params.get("debug"))
        as_json = bool(ctx.params.get("as_json"))
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort, typer.TyperException, BrokenPipeError, KeyboardInterrupt, EOFError):
            raise
        except Exception as error:  # noqa: BLE001 -- the last line: whatever it is, a person must be able to read it
            from penstock.cli.screen.failures import report_failure

            raise typer.Exit(report_failure(error, as_json=as_json, debug=debug)) from None


app = typer.Typer(
    name="penstock",
    help="Declarative streaming pipelines on Spark and Delta Lake, with every row accounted for.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _version(value: bool) -> None:
    if value:
        from importlib import metadata

        typer.echo(f"penstock {metadata.version('penstock')}")
        raise typer.Exit


@app.callback()
def penstock(
    debug: Annotated[
        bool,
        typer.Option(
            "--debug",
            help=f"Show a stack trace with an error; works behind a command too. {DEBUG_VARIABLE}=1 does the same.",
        ),
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Declarative streaming pipelines on Spark and Delta Lake, with every row accounted for."""
    limit_repeated_messages()


START, RUN, LOOK = "Start", "Run a pipeline", "Look at a pipeline (no Spark, except sql, compare, replay and state)"

for panel, function in (
    (START, init.init),
    (START, setup.setup),
    (START, stubs.stubs),
    (START, lint.lint),
    (RUN, validate.validate),
    (RUN, plan.plan),
    (RUN, run.run),
    (RUN, maintenance.optimize),
    (RUN, maintenance.vacuum),
    (RUN, compact.compact),
    (RUN, drop.drop),
    (RUN, adopt.adopt),
    (LOOK, status.status),
    (LOOK, top.top),
    (LOOK, events.events),
    (LOOK, audit.audit),
    (LOOK, doctor.doctor),
    (LOOK, tune.tune),
    (LOOK, show.show),
    (LOOK, sql.sql),
    (LOOK, compare.compare),
    (LOOK, replay_batch.replay),
    (LOOK, state.state),
    (LOOK, watermark.watermark),
    (LOOK, cost.cost),
    (LOOK, graph.graph),
    (LOOK, ui.ui),
    (LOOK, serve.serve),
    (START, explain.explain),
):
    app.command(cls=Command, rich_help_panel=panel)(function)
app.command(cls=Command, rich_help_panel=RUN, context_settings=dict(script.CONTEXT))(script.script)
app.command("test", cls=Command, rich_help_panel=RUN)(run_tests.run_tests)

for name, about, actions in (
    (
        "deploy",
        "Write the files with which other programs run the pipeline.",
        {
            "docker": deploy.docker,
            "kubernetes": deploy.kubernetes,
            "systemd": deploy.systemd,
            "airflow": deploy.airflow,
            "dagster": deploy.dagster,
            "github-actions": deploy.github_actions,
            "policy": deploy.policy,
        },
    ),
    (
        "quarantine",
        "Look at rows that break a rule, and send them through again.",
        {"show": quarantine.show, "replay": quarantine.replay},
    ),
    (
        "alerts",
        "Show the current alerts, and test the destinations of the pipeline file.",
        {"check": alerts.check, "test": alerts.send_test},
    ),
    (
        "metrics",
        "Numbers for Prometheus, and what it and Grafana do with them.",
        {"show": metrics.show, "rules": metrics.rules, "grafana": metrics.grafana},
    ),
    (
        "late",
        "Show rows that arrived behind the watermark, and reprocess them.",
        {"show": late.show, "reprocess": late.reprocess},
    ),
    (
        "checkpoint",
        "Look at what flows have read; check, copy and replace it.",
        {
            "ls": checkpoint.list_all,
            "show": checkpoint.show,
            "verify": checkpoint.verify,
            "backup": checkpoint_changes.backup,
            "restore": checkpoint_changes.restore,
            "rebuild": checkpoint_changes.rebuild,
            "rewind": checkpoint_rewind.rewind,
            "repartition": checkpoint_repartition.repartition,
            "reset": checkpoint_changes.reset,
        },
    ),
):
    group = typer.Typer(name=name, help=about, no_args_is_help=True)
    for action, command in actions.items():
        group.command(action, cls=Command)(command)
    app.add_typer(group, rich_help_panel=START if name == "deploy" else LOOK)


def main() -> None:
    """The entry point of the `penstock` script."""
    interruptible()
    try:
        app(prog_name="penstock")
    except SystemExit as end:
        if isinstance(end.code, int):
            end_quickly(end.code)
        raise

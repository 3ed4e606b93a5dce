"""`penstock`: the commands, and how each of them ends.

Exit codes: 0 done, 1 the pipeline failed, 2 the definition, the configuration or the command line is
wrong, 3 the state refused (lock, checkpoint, table).
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from penstock.cli.command_table import root_commands
from penstock.cli.late_conversion import convert_late
from penstock.cli.lazy_command import DEBUG_VARIABLE, MARKUP
from penstock.cli.screen.repeated_messages import limit_repeated_messages
from penstock.cli.stopping import end_quickly, interruptible


class _Root(TyperGroup):
    """`penstock` with the commands of the table."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes | {"commands": root_commands()})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Called once, when Typer has added its own options."""
        convert_late(self.get_params(ctx))
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="penstock",
    cls=_Root,
    help="Declarative streaming pipelines on Spark and Delta Lake, with every row accounted for.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=MARKUP,
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


def main() -> None:
    """The entry point of the `penstock` script."""
    interruptible()
    try:
        app(prog_name="penstock")
    except SystemExit as end:
        if isinstance(end.code, int):
            end_quickly(end.code)
        raise

"""The commands' classes: one is imported when it is called, and each ends with a message and an exit code."""

from __future__ import annotations

import importlib
import os
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from penstock.cli.late_conversion import convert_late

DEBUG_VARIABLE: Final = "PENSTOCK_DEBUG"
MARKUP: Final = "markdown"
WORDS: Final = "words"
"""The key under which the context's `meta` has the words that follow a command, as they were typed."""

_COMMANDS: Final = "penstock.cli.commands"


class Command(TyperCommand):
    """A command whose errors become a message and an exit code, with a stack trace only for `--debug`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Takes `--debug` behind the command as well as before it."""
        convert_late(self.get_params(ctx))
        words = args[: args.index("--")] if "--" in args else args
        if "--debug" in words:
            args.remove("--debug")
            ctx.find_root().params["debug"] = True
        ctx.meta[WORDS] = list(args)
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


class LazyCommand(TyperCommand):
    """A command's name and summary; its module is imported when it is called, or asked for its own help."""

    def __init__(self, name: str, function: str, summary: str) -> None:
        """Describes a command.

        Args:
            name: the word that calls it.
            function: the module below `penstock.cli.commands` and the function in it, with dots. `CONTEXT` in the
                module, when there, is the command's context settings.
            summary: the first paragraph of the function's docstring, for the help of the group.
        """
        super().__init__(name, help=summary, rich_markup_mode=MARKUP)
        self._function = function

    def load(self) -> typer.core.TyperCommand:
        """Imports the command and returns it."""
        module_name, _, function = self._function.rpartition(".")
        module = importlib.import_module(f"{_COMMANDS}.{module_name}")
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=MARKUP)
        settings = dict(getattr(module, "CONTEXT", {}))
        single.command(self.name, cls=Command, context_settings=settings)(getattr(module, function))
        command = typer.main.get_command(single)
        assert isinstance(command, Command)
        return command

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Called for a command that is run, asked for help or completed: from here on it is the imported one."""
        return self.load().make_context(info_name, args, parent=parent, **extra)


def group_of(name: str, about: str, *commands: LazyCommand) -> TyperGroup:
    """Returns a command that has commands, as `penstock checkpoint`."""
    return TyperGroup(name=name, help=about, commands=commands, no_args_is_help=True, rich_markup_mode=MARKUP)

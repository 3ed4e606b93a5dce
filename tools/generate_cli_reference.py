"""Writes docs/reference/cli.md from the commands themselves; a test checks that it is current.

python tools/generate_cli_reference.py [--check]
"""

from __future__ import annotations

import inspect
import sys
from enum import Enum
from pathlib import Path
from typing import Any

from penstock.cli.command_table import all_commands

TARGET = Path(__file__).resolve().parent.parent / "docs/reference/cli.md"

HEAD = """\
# The commands

Written by `tools/generate_cli_reference.py` from the commands themselves; edit those.

`DIR` holds the pipeline file and is the current folder when left out. `--json` prints exactly one JSON document on
stdout (`events`: one per line) and nothing else; progress, advice and errors go to stderr. When a command with `--json`
ends with an error, the document is `{"errors": [{condition, message, fix, dataset, file, line}]}`.

| exit code | meaning |
|---|---|
| 0 | done; also a run that was asked to stop, and did |
| 1 | the pipeline failed: data, a broker, a disk, or a bug of Penstock |
| 2 | the pipeline's files, its configuration or the command line is wrong |
| 3 | the state refused: a lock, a checkpoint or a table |
| 130, 143 | ended at once by a second Ctrl-C or SIGTERM, or `stop_timeout` after the first |

`--debug`, before or behind a command, adds the stack trace to an error.
"""


def reference() -> str:
    """Returns the page."""
    return HEAD + "".join(_section(name, command.load()) for name, command in all_commands().items())


def _section(name: str, command: Any) -> str:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and one.name != "help"]
    words = [_word(one) for one in arguments]
    lines = [f"\n## penstock {' '.join([name, *words])}\n", inspect.cleandoc(command.help or ""), ""]
    if arguments or options:
        lines += ["| | |", "|---|---|"]
        lines += [_row(f"`{_word(one)}`", one) for one in arguments]
        lines += [_row(_flags(one), one) for one in options]
    return "\n".join(lines).rstrip() + "\n"


def _word(argument: Any) -> str:
    word = str(argument.metavar or argument.name.upper())
    return word if argument.required else f"[{word}]"


def _flags(option: Any) -> str:
    flags = ", ".join(f"`{flag}`" for flag in option.opts)
    return flags if option.is_flag else f"{flags} `{_value(option)}`"


def _value(option: Any) -> str:
    """Returns what stands behind a flag: its choices when it has some, else its metavar."""
    kind = option.type_descriptor.annotation
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "|".join(str(choice.value) for choice in kind)
    return str(option.metavar)


def _row(what: str, parameter: Any) -> str:
    default = parameter.default
    default = getattr(default, "value", default)
    shown = isinstance(default, str | int) and not isinstance(default, bool) and default != ""
    text = str(parameter.help or "").replace("|", "\\|")
    return f"| {what.replace('|', chr(92) + '|')} | {text}{f' Default: `{default}`.' if shown else ''} |"


def main() -> int:
    page = reference()
    if "--check" in sys.argv:
        return int(not TARGET.exists() or TARGET.read_text(encoding="utf-8") != page)
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

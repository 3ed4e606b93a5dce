"""The table of commands: what it says of each is what the command's own module says."""

from __future__ import annotations

import inspect
import pkgutil

import pytest
from typer.testing import CliRunner

import penstock.cli.commands
from penstock.cli.command_table import all_commands
from penstock.cli.lazy_command import LazyCommand
from penstock.cli.main import app

COMMANDS = all_commands()
by_words = pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)


@by_words
def test_summary_is_the_first_paragraph_of_the_command(command: LazyCommand) -> None:
    [first, *_] = inspect.cleandoc(command.load().help or "").split("\n\n")
    assert command.help == " ".join(first.split())


@by_words
def test_command_is_loaded_under_its_name(command: LazyCommand) -> None:
    assert command.load().name == command.name


def test_each_module_of_a_command_is_in_the_table() -> None:
    root = penstock.cli.commands
    modules = {module.name for module in pkgutil.walk_packages(root.__path__, f"{root.__name__}.") if not module.ispkg}
    callbacks = [command.load().callback for command in COMMANDS.values()]
    assert {inspect.unwrap(callback).__module__ for callback in callbacks if callback is not None} == modules


@pytest.mark.parametrize(
    ("words", "proposed"),
    [
        ("penstock st", {"stubs", "status", "state"}),
        ("penstock checkpoint re", {"restore", "rebuild", "rewind", "repartition", "reset"}),
        ("penstock status --js", {"--json"}),
        ("penstock doctor --fail-on w", {"warning"}),
    ],
)
def test_shell_completion_knows_commands_and_their_flags(words: str, proposed: set[str]) -> None:
    asked = {"_PENSTOCK_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    answer = CliRunner().invoke(app, [], prog_name="penstock", env=asked)
    assert set(answer.stdout.split()) == proposed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["events", "--count", "x"], "valid integer"),
        (["doctor", "--fail-on", "never mind"], "'error', 'warning', 'never'"),
        (["status", "--env"], "requires an argument"),
    ],
)
def test_a_value_of_the_wrong_kind_is_a_usage_error(words: list[str], said: str) -> None:
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 2
    assert said in " ".join(answer.stderr.replace("│", "").split())

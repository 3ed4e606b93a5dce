"""Which pipeline of a bundle a command is about."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.command_table import all_commands
from penstock.cli.main import app

runner = CliRunner()


def _flags(command: object) -> set[str]:
    return {flag for parameter in getattr(command, "params", ()) for flag in parameter.opts}


def test_each_command_that_reads_a_pipeline_file_can_be_told_which_pipeline() -> None:
    flags_of = {name: _flags(command.load()) for name, command in all_commands().items()}
    chosen = {name: flags for name, flags in flags_of.items() if "--env" in flags}
    assert {"run", "validate", "plan", "status", "quarantine show", "checkpoint ls"} <= set(chosen)
    without = [name for name, flags in chosen.items() if "--pipeline" not in flags]
    assert without == [], "see penstock.cli.project.project_command"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ([], ["CONFIG_PIPELINE_NEEDED", "orders, customers", "--pipeline KEY"]),
        (["--pipeline", "order"], ["CONFIG_UNKNOWN_PIPELINE", "'orders'"]),
        (["--pipeline", "orders", "--env", "prod"], ["CONFIG_UNKNOWN_ENVIRONMENT", "dev"]),
    ],
)
def test_what_is_said_when_it_is_not_clear(tmp_path: Path, flags: list[str], said: list[str]) -> None:
    text = "resources: {pipelines: {orders: {}, customers: {}}}\ntargets: {dev: {}}\n"
    (tmp_path / "databricks.yml").write_text(text)
    result = runner.invoke(app, ["status", str(tmp_path), *flags])
    assert result.exit_code == 2
    assert [words for words in said if words not in result.stderr] == []

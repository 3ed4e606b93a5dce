"""What a released version has left behind, this one goes on with: each row once, and no state forgotten."""

from __future__ import annotations

import json

import pytest
from tests import upgrade
from tests.spark.pipeline_project import PipelineProject
from typer.testing import CliRunner

from penstock.cli.main import app


@pytest.mark.parametrize("version", upgrade.versions())
@pytest.mark.parametrize(
    "runs", [pytest.param([[2, 3]], id="one run"), pytest.param([[2], [3]], id="two runs", marks=pytest.mark.slow)]
)
def test_the_storage_of_a_released_version_goes_on(
    project: PipelineProject, version: str, runs: list[list[int]]
) -> None:
    upgrade.unpack(version, project)
    assert upgrade.found(project) == upgrade.expected(2)
    assert _findings(project) == []
    for files in runs:
        for file in files:
            upgrade.arrive(project, file)
        assert project.run().errors == ()
        assert upgrade.found(project) == upgrade.expected(files[-1] + 1)
    assert _findings(project) == []


def _findings(project: PipelineProject) -> list[str]:
    (project.directory / "penstock.yml").write_text("name: shop\nschema: shop\n")
    done = CliRunner().invoke(app, ["checkpoint", "verify", str(project.directory), "--json"])
    return [each["condition"] for each in json.loads(done.stdout)["findings"]]

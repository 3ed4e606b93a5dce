"""`penstock plan` of an update that is refused: one document for programs, the errors for people. No Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import penstock.runtime
from penstock.cli.main import app
from penstock.errors import StateError
from penstock.graph.resolved import ResolvedGraph
from penstock.plan.stages import UpdatePlan
from penstock.runtime.project.validation import PlannedUpdate


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "penstock.yml").write_text("name: shop\n")
    monkeypatch.chdir(tmp_path)
    refusal = StateError(
        "CHECKPOINT_NOT_COMPATIBLE", flow="gold", name="shop.gold", reasons="another key", command="penstock run"
    )
    graph = ResolvedGraph({}, {}, (), (), {})
    planned = PlannedUpdate(UpdatePlan(graph, (), refusals=(refusal,)), graph)
    monkeypatch.setattr(penstock.runtime, "plan_update", lambda *_, **__: planned)
    return tmp_path


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_refused_update_ends_with_3(project: Path, words: list[str]) -> None:
    done = CliRunner().invoke(app, ["plan", *words])
    assert done.exit_code == 3, done.output
    assert done.stderr.count("[CHECKPOINT_NOT_COMPATIBLE]") == 1
    if words:
        assert [each["condition"] for each in json.loads(done.stdout)["refusals"]] == ["CHECKPOINT_NOT_COMPATIBLE"]

"""`penstock run --batch` and `plan --batch`, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import penstock.runtime
from penstock.cli.main import app
from penstock.config import PipelineConfig
from penstock.graph.resolved import ResolvedGraph
from penstock.plan.selection import RefreshSelection
from penstock.plan.stages import UpdatePlan
from penstock.runtime.project.validation import PlannedUpdate


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "penstock.yml").write_text("name: shop\ncontinuous: true\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "words", [["--continuous"], ["--trigger", "1 second"], ["--accept-data-loss", "orders"]], ids=lambda words: words[0]
)
def test_options_of_streams_do_not_go_with_it(project: Path, words: list[str]) -> None:
    done = CliRunner().invoke(app, ["run", "--batch", *words])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "[BATCH_OPTION_CONFLICT]" in done.stderr
    assert words[0] in done.stderr
    assert not (project / ".penstock").exists()


def test_it_stores_beside_the_streams_and_ends(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[PipelineConfig] = []

    def planned(config: PipelineConfig, *_: object, **__: object) -> PlannedUpdate:
        seen.append(config)
        graph = ResolvedGraph({}, {}, (), (), {})
        return PlannedUpdate(UpdatePlan(graph, ()), graph)

    monkeypatch.setattr(penstock.runtime, "plan_update", planned)
    monkeypatch.setattr("penstock.cli.commands.project.plan.enter", lambda *_, **__: None)
    assert CliRunner().invoke(app, ["plan", "--batch", "--storage", "s3a://lake/shop/"]).exit_code == 0
    assert CliRunner().invoke(app, ["plan", "--batch"]).exit_code == 0
    assert [config.storage for config in seen] == ["s3a://lake/shop/batch", f"{project}/.penstock/batch"]
    assert [config.shared_storage for config in seen] == ["s3a://lake/shop/", f"{project}/.penstock"]
    assert not any(config.keeps_running for config in seen)


def test_a_choice_is_computed_anew() -> None:
    assert RefreshSelection(refresh=("a",), full_refresh=("b",)).as_full_refresh() == RefreshSelection(
        full_refresh=("a", "b")
    )
    assert RefreshSelection().as_full_refresh() == RefreshSelection(full_refresh_all=True)

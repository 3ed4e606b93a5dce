"""Which losses can be accepted: those that a flow reported last."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.unit.observe.story import Story

from penstock.errors import ConfigError, StateError
from penstock.events import FlowStatus
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import ResolvedGraph
from penstock.runtime.flows.accepted_loss import accepted_losses, needs_data_correction

T, U = Identifier("s", "T"), Identifier("s", "u")


def graph(*flows: tuple[Identifier, str]) -> ResolvedGraph:
    resolved: Any = SimpleNamespace(
        flows=[SimpleNamespace(declaration=SimpleNamespace(target=target, name=name)) for target, name in flows]
    )
    return cast("ResolvedGraph", resolved)


GRAPH = graph((T, "first"), (T, "Second"), (U, "u"))


def lose(story: Story, flow: str, *, condition: str = "KAFKA_DATA_LOSS", target: str = "s.T") -> None:
    error = StateError(condition, dataset=target, flow=flow, name=target, lost=f"of {flow}")
    story.status(target, FlowStatus.FAILED, flow=flow, error=error)


def accepted(story: Story, *names: str) -> dict[str, tuple[str, str]]:
    found = accepted_losses(names, GRAPH, story.events, default_schema="s")
    return {flow: (loss.condition, loss.facts["lost"]) for (_, flow), loss in found.items()}


@pytest.fixture
def story() -> Story:
    story = Story()
    story.update("u1")
    lose(story, "first")
    lose(story, "Second", condition="SOURCE_FILES_LOST")
    return story


def test_a_flow_is_called_by_its_name_or_by_its_table(story: Story) -> None:
    assert accepted(story) == {}
    assert accepted(story, "FIRST") == {"first": ("KAFKA_DATA_LOSS", "of first")}
    both = {"first": ("KAFKA_DATA_LOSS", "of first"), "Second": ("SOURCE_FILES_LOST", "of Second")}
    assert accepted(story, "t") == accepted(story, "s.t") == accepted(story, "second", "first") == both


def test_the_last_report_counts(story: Story) -> None:
    story.update("u2")
    lose(story, "first", condition="SOURCE_VERSIONS_LOST")
    assert accepted(story, "first")["first"][0] == "SOURCE_VERSIONS_LOST"


@pytest.mark.parametrize("news", ["batch", "completed"])
def test_what_went_on_since_has_nothing_to_accept(story: Story, news: str) -> None:
    story.update("u2")
    if news == "batch":
        story.batch("s.T", 4, 1, flow="first")
    else:
        story.status("s.T", FlowStatus.COMPLETED, flow="first")
    with pytest.raises(ConfigError, match="first has not reported lost data"):
        accepted(story, "first")
    assert list(accepted(story, "t")) == ["Second"]


def test_other_failures_and_other_names_are_refused(story: Story) -> None:
    story.status("s.u", FlowStatus.FAILED, error={"condition": "FLOW_FAILED"})
    with pytest.raises(ConfigError, match="has not reported lost data"):
        accepted(story, "u")
    with pytest.raises(ConfigError, match="Did you mean 'first'"):
        accepted(story, "fist")


def test_files_may_be_overwritten_after_the_rows_in_them_were_refused(story: Story) -> None:
    assert not needs_data_correction(story.events, (T, "first"))
    story.status("s.T", FlowStatus.FAILED, flow="First", error={"condition": "EXPECTATION_FAILED"})
    lose(story, "first", condition="SOURCE_FILES_LOST")
    assert needs_data_correction(story.events, (T, "first"))
    assert not needs_data_correction(story.events, (T, "Second"))
    story.status("s.T", FlowStatus.FAILED, flow="first", error={"condition": "FLOW_FAILED"})
    assert not needs_data_correction(story.events, (T, "first"))

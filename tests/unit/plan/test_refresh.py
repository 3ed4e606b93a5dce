"""Which materialized views are computed again, and what the plan says of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.plan.conftest import QUERY, Pipeline

from penstock.events import RefreshMethod
from penstock.events.flows.refresh_costs import NOTHING_MEASURED
from penstock.graph.elements import Expectation, OnViolation
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import QueryDefinition
from penstock.plan.stages import RefreshMaterializedView
from penstock.plan.state import GENERATION


def _refreshes(pipeline: Pipeline, **options: object) -> dict[str, RefreshMaterializedView]:
    return {each.dataset.name: each for each in pipeline.plan(**options).of_type(RefreshMaterializedView)}  # type: ignore[arg-type]


def _why(stage: RefreshMaterializedView) -> str:
    return stage.explanation.removeprefix("recomputed and replaced in one commit").lstrip(": ")


def _unchanged(pipeline: Pipeline) -> Pipeline:
    pipeline.stream("orders").materialized("top", "orders").materialized("best", "top").existing()
    return pipeline.refreshed("top", orders="o@4").refreshed("best", top="t@2").now(orders="o@4", top="t@2")


def test_without_a_new_version_of_an_input_nothing_is_computed(pipeline: Pipeline) -> None:
    stages = _refreshes(_unchanged(pipeline), refresh=("top", "best"))
    assert {stage.explanation for stage in stages.values()} == {
        "unchanged, not computed again: no table that it reads has a new version, and its definition is the same"
    }
    assert stages["best"].last is not None
    assert stages["best"].last.inputs == {"shop.top": "t@2"}
    assert stages["best"].inputs == {"shop.top": "/lake/top"}


def test_what_runs_before_decides(pipeline: Pipeline) -> None:
    stages = _refreshes(_unchanged(pipeline))
    assert _why(stages["top"]) == "unless shop.orders stays as it is"
    assert _why(stages["best"]) == "unless shop.top stays as it is"
    assert stages["top"].last is not None


def test_a_new_version_of_an_input_is_named(pipeline: Pipeline) -> None:
    stages = _refreshes(_unchanged(pipeline).now(orders="o@5"), refresh=("top", "best"))
    assert _why(stages["top"]) == "shop.orders has a new version"
    assert _why(stages["best"]) == "unless shop.top stays as it is"
    pipeline.materialized("both", "orders", "top").existing().refreshed("both", orders="o@4")
    assert _why(_refreshes(pipeline)["both"]) == "shop.orders, shop.top have new versions"


def test_the_plan_says_how_a_view_is_refreshed_or_why_in_full(pipeline: Pipeline) -> None:
    able = QueryDefinition("q", methods=("merge groups", "recompute keys"))
    unable = QueryDefinition("r", full="its query has LIMIT")
    pipeline.stream("orders").materialized("sums", "orders", definition=able)
    pipeline.materialized("old", "orders", definition=able).materialized(
        "first", "orders", definition=unable
    ).existing()
    pipeline.refreshed("sums", able, exact=True, orders="o@4").refreshed("old", able, orders="o@4")
    pipeline.refreshed("first", unable, exact=True, orders="o@4").now(orders="o@5")
    why = {name: stage.explanation for name, stage in _refreshes(pipeline, refresh=("sums", "old", "first")).items()}
    changed = "shop.orders has a new version"
    assert why["sums"] == f"refreshed by what has changed (merge groups or recompute keys): {changed}"
    replaced = f"recomputed and replaced in one commit: {changed}; in full: "
    assert why["first"] == f"{replaced}its query has LIMIT"
    assert why["old"] == f"{replaced}this once, because its last refresh did not note exactly what it had read"


def test_the_plan_says_what_refreshes_took_where_that_decides(pipeline: Pipeline) -> None:
    able = QueryDefinition("q", methods=("merge groups", "recompute keys"))
    pipeline.stream("orders").materialized("sums", "orders", definition=able).existing()
    pipeline.refreshed("sums", able, exact=True, orders="o@4").now(orders="o@5")
    history = NOTHING_MEASURED.with_measure(RefreshMethod.FULL, 8.5, 100_000_000, 0)
    history = history.with_measure(RefreshMethod.MERGE_GROUPS, 1.3, 10_000_000, 9_000_000)
    pipeline.last = {name: replace(record, history=history) for name, record in pipeline.last.items()}
    assert _refreshes(pipeline, refresh=("sums",))["sums"].explanation == (
        "refreshed by what has changed (merge groups or recompute keys) or in full,"
        " whichever is estimated to be quicker:"
        " shop.orders has a new version; merge groups took 1.3 s"
        " (quicker up to about 99.0 MB of changes), full took 8.5 s"
    )


def test_a_table_that_was_created_again_is_another_one(pipeline: Pipeline) -> None:
    assert _why(_refreshes(_unchanged(pipeline).now(orders="p@4"))["top"]) == "shop.orders has a new version"


def test_a_view_whose_quarantine_is_missing_or_emptied_fills_it(pipeline: Pipeline) -> None:
    top, aside = Identifier("shop", "top"), Identifier("shop", "top__quarantine")
    _unchanged(pipeline)
    rule = Expectation("positive", "id > 0", OnViolation.QUARANTINE, pipeline.tables[top].location)
    pipeline.tables[top] = replace(pipeline.tables[top], expectations=(rule,))
    assert _why(_refreshes(pipeline, refresh=("top",))["top"]) == "its quarantine has no rows yet"
    table = pipeline.stored[top]
    pipeline.stored[aside] = replace(table, properties={GENERATION: "0"})
    assert _refreshes(pipeline, refresh=("top",))["top"].explanation.startswith("unchanged")
    pipeline.stored[top] = replace(table, properties={**table.properties, GENERATION: "1"})
    assert _why(_refreshes(pipeline, refresh=("top",))["top"]) == "its quarantine has no rows yet"


def test_an_input_whose_version_nobody_knows_counts_as_changed(pipeline: Pipeline) -> None:
    del _unchanged(pipeline).versions["shop.orders"]
    pipeline.refreshed("top")
    assert _why(_refreshes(pipeline)["top"]) == "shop.orders has a new version"


def test_inputs_are_seen_through_views_and_outside_of_the_pipeline(pipeline: Pipeline) -> None:
    definition = QueryDefinition("q1", outside=("/warehouse/rates",))
    pipeline.stream("orders").view("recent", "orders").materialized("top", "recent", definition=definition).existing()
    pipeline.refreshed("top", orders="o@4").now(orders="o@4")
    assert _refreshes(pipeline)["top"].inputs == {"shop.orders": "/lake/orders", "/warehouse/rates": "/warehouse/rates"}
    assert _why(_refreshes(pipeline)["top"]) == "/warehouse/rates has a new version"


@pytest.mark.parametrize(
    ("definition", "always", "why"),
    [
        (QueryDefinition("q2"), False, "its definition has changed"),
        (QueryDefinition("q1", always="it reads files in /in"), False, "it reads files in /in"),
        (QUERY, True, "its refresh_policy is full"),
    ],
)
def test_reasons_to_compute_in_any_case(
    pipeline: Pipeline, definition: QueryDefinition, always: bool, why: str
) -> None:
    pipeline.stream("orders").materialized("top", "orders", definition=definition, always=always).existing()
    pipeline.refreshed("top", orders="o@4").now(orders="o@4")
    stage = _refreshes(pipeline, refresh=("top",))["top"]
    assert (_why(stage), stage.last) == (why, None)


def test_the_first_refresh_a_full_one_and_rows_of_unknown_origin(pipeline: Pipeline) -> None:
    pipeline.stream("orders").materialized("top", "orders")
    assert _why(_refreshes(pipeline)["top"]) == "it has no rows yet"
    pipeline.existing().now(orders="o@4")
    assert _why(_refreshes(pipeline)["top"]) == (
        "its present rows were not written by a refresh that noted what it read"
    )
    pipeline.refreshed("top", orders="o@4")
    stage = _refreshes(pipeline, full_refresh=("top",))["top"]
    assert (_why(stage), stage.last) == ("full refresh", None)

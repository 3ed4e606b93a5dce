from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.plan.conftest import Pipeline

from penstock.errors import DefinitionError, SourceLocation
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import EndlessState, UpdateKeys
from penstock.plan.explain import describe, flow_label, render_plan

EXPECTED = """\
alter table   shop.bronze  changed properties: owner
stream        shop.bronze  append: reads kafka orders
empty table   shop.hourly  full refresh: emptied, then computed again from its sources (generation 1)
stream        shop.hourly  append: reads shop.bronze; keeps state: aggregate; watermark 1 hour on at
create table  shop.totals  does not exist yet
stream        shop.totals  complete (the table is rewritten in each batch): reads shop.bronze
append once   shop.totals  append once: backfill
skip          shop.top     not selected; stays as it is

warning: [STREAMING_AGGREGATION_WITHOUT_WATERMARK] """


def test_a_plan_reads_as_a_table(pipeline: Pipeline) -> None:
    pipeline.stream("bronze").stream("hourly", "bronze*", stateful=("aggregate",), watermark=("at", "1 hour"))
    pipeline.stream("totals", "bronze*", complete=True).materialized("top", "totals").existing(
        "bronze", "hourly", "top"
    )
    pipeline.flow("backfill", "parquet:/old", into="totals", kind=FlowType.APPEND_ONCE)
    bronze = Identifier("shop", "bronze")
    pipeline.tables[bronze] = replace(pipeline.tables[bronze], table_properties={"owner": "me"})
    plan = pipeline.plan(refresh=("bronze", "totals"), full_refresh=("hourly",))
    place = SourceLocation("orders.py", 9)
    warning = DefinitionError("STREAMING_AGGREGATION_WITHOUT_WATERMARK", location=place, flow="totals")
    text = render_plan(replace(plan, graph=replace(plan.graph, warnings=(warning,))))
    assert text.startswith(EXPECTED)
    assert "orders.py:9" in text


def test_a_flow_says_what_it_reads_anew_and_what_it_never_frees(pipeline: Pipeline) -> None:
    pipeline.stream("orders").materialized("shops", "parquet:/shops").view("named", "orders*", "shops")
    pipeline.stream("sold", "named*", "shops", "files:./days", stateful=("deduplicate", "aggregate"))
    pipeline.flows[-1] = replace(pipeline.flows[-1], endless=(EndlessState("deduplicate", None),))
    stages = {stage.dataset.name: stage.explanation for stage in pipeline.existing().plan().stages}
    assert stages["sold"] == (
        "append: reads shop.named, shop.shops, files ./days; each batch reads shop.shops as it is then; "
        "keeps state: deduplicate, aggregate; never freed: deduplicate"
    )
    assert "then" not in stages["shops"], "a materialized view reads all anew, and says when"


def test_a_plan_says_what_a_crash_does_to_a_row(pipeline: Pipeline) -> None:
    pipeline.stream("live", "socket:localhost").sink("out", "live*", "live*")
    pipeline.promises[Identifier("shop", "out")] = "exactly once"
    [read] = pipeline.flows[0].inputs
    pipeline.flows[0] = replace(pipeline.flows[0], inputs=(replace(read, replayable=False),))
    stages = {stage.dataset.name: stage.explanation for stage in pipeline.existing().plan().stages}
    assert stages["live"].endswith("; a crash loses rows of socket localhost, which cannot be read again")
    assert stages["out"].endswith("; exactly once")
    assert "crash" not in stages["out"], "it reads a table"


def test_json_of_a_plan(pipeline: Pipeline) -> None:
    plan = pipeline.stream("bronze").existing().plan()
    assert plan.to_json() == {
        "stages": [
            {
                "stage": "run_streaming_flow",
                "dataset": "shop.bronze",
                "flow": "bronze",
                "explanation": "append: reads kafka orders",
                "checkpoint": {"verdict": "new", "reasons": [], "repairs": []},
            }
        ],
        "warnings": [],
        "refusals": [],
    }


def test_an_empty_plan_is_empty(pipeline: Pipeline) -> None:
    assert render_plan(pipeline.plan()) == ""


def test_plan_without_warnings_ends_with_its_last_stage(pipeline: Pipeline) -> None:
    assert render_plan(pipeline.stream("bronze").existing().plan()) == "stream  shop.bronze  append: reads kafka orders"


def test_label_of_a_flow_has_its_own_name_only_where_it_differs(pipeline: Pipeline) -> None:
    pipeline.stream("bronze").flow("backfill", "parquet:/old", into="bronze", kind=FlowType.APPEND_ONCE)
    pipeline.flow("BRONZE", into="bronze")
    assert [flow_label(flow) for flow in pipeline.flows] == ["shop.bronze", "shop.bronze (backfill)", "shop.bronze"]


@pytest.mark.parametrize(("columns", "words"), [(("id", "day"), "by id, day"), ((), "into its one row")])
def test_an_update_flow_says_by_what_it_merges(pipeline: Pipeline, columns: tuple[str, ...], words: str) -> None:
    pipeline.stream("totals")
    flow = replace(pipeline.flows[0], keys=UpdateKeys(columns, distinct=True))
    assert describe(flow) == f"update (the rows that changed are merged {words})"

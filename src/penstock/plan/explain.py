"""How a plan and its flows look to a person."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import render
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.resolved import ResolvedFlow, ResolvedGraph
from penstock.plan.stages import UpdatePlan


def flow_label(flow: ResolvedFlow) -> str:
    """Returns how a flow is called towards people: its dataset, and its own name when that differs."""
    same = flow.declaration.name.casefold() == flow.declaration.target.name.casefold()
    return str(flow.declaration.target) if same else f"{flow.declaration.target} ({flow.declaration.name})"


def describe(flow: ResolvedFlow) -> str:
    """Returns what kind of flow it is, in words."""
    if flow.keys is not None:
        by = f"by {', '.join(flow.keys.columns)}" if flow.keys.columns else "into its one row"
        return f"update (the rows that changed are merged {by})"
    return {
        FlowType.APPEND: "append",
        FlowType.COMPLETE: "complete (the table is rewritten in each batch)",
        FlowType.UPDATE: "update (changed rows are written again)",
        FlowType.APPEND_ONCE: "append once",
        FlowType.MATERIALIZED_VIEW: "refresh",
        FlowType.VIEW: "view",
        FlowType.CHANGE: "apply changes",
        FlowType.SNAPSHOT_CHANGE: "apply the differences of snapshots",
    }[flow.type]


def explain_flow(graph: ResolvedGraph, flow: ResolvedFlow) -> str:
    """Returns what kind of flow it is, what it reads and what it remembers, in one line."""
    return "; ".join([f"{describe(flow)}: reads {', '.join(read.source for read in flow.inputs)}", *_more(graph, flow)])


def _more(graph: ResolvedGraph, flow: ResolvedFlow) -> Iterator[str]:
    if (promise := graph.promises.get(flow.declaration.target)) is not None:
        yield promise
    beside = [read for read in graph.stored_inputs(flow.inputs) if flow.streaming and not read.streaming]
    # Of other reads it is not known here: Spark lists files when the flow starts, and asks a database in each batch.
    if tables := dict.fromkeys(read.source for read in beside if read.format == "delta"):
        yield f"each batch reads {', '.join(tables)} as it is then"
    if lost := [read.source for read in graph.stored_inputs(flow.inputs) if not read.replayable]:
        yield f"a crash loses rows of {', '.join(dict.fromkeys(lost))}, which cannot be read again"
    if flow.stateful:
        yield f"keeps state: {', '.join(flow.stateful)}"
    if flow.endless:
        yield f"never freed: {', '.join(dict.fromkeys(each.operator for each in flow.endless))}"
    if flow.watermark:
        yield f"watermark {flow.watermark[1]} on {flow.watermark[0]}"


_WORDS = {
    "create_table": "create table",
    "reset_table": "empty table",
    "alter_table": "alter table",
    "run_streaming_flow": "stream",
    "run_sink_flow": "stream out",
    "run_once_flow": "append once",
    "run_snapshot_flow": "compare",
    "maintain_table": "maintain",
    "refresh_materialized_view": "refresh",
    "exclude": "skip",
}


def render_plan(plan: UpdatePlan) -> str:
    """Returns one line per step, aligned, in the order of execution; then the warnings."""
    rows = [(_WORDS[stage.kind], str(stage.dataset), stage.explanation) for stage in plan.stages]
    verb_width = max((len(row[0]) for row in rows), default=0)
    name_width = max((len(row[1]) for row in rows), default=0)
    lines = [f"{verb:<{verb_width}}  {name:<{name_width}}  {why}".rstrip() for verb, name, why in rows]
    warnings = [f"warning: {render(warning)}" for warning in plan.warnings]
    return "\n".join([*lines, *([""] if warnings else []), *warnings])

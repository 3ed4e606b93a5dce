"""How a plan looks to a person."""

from __future__ import annotations

from penstock.errors import render
from penstock.plan.stages import UpdatePlan

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

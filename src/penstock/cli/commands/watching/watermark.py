"""`penstock watermark`: what other delays of a table's watermark would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.options import AsJson
from penstock.cli.project import Project, project_command
from penstock.cli.recorded_reads import read_check
from penstock.cli.screen.console import note, plural, print_json, print_table

if TYPE_CHECKING:
    from penstock.observe.watermark import DelayCost, WatermarkAdvice


@project_command()
def watermark(
    *,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table, with or without the schema.")],
    config: Project,
    target: Annotated[
        float,
        typer.Option("--target", metavar="N", min=0.001, max=999_999, help="How many rows of a million may be lost."),
    ] = 100,
    as_json: AsJson = False,
) -> None:
    """Show, for each delay of the watermark, the rows lost, the state and the wait for results, and recommend one.

    From how late rows came since the last full refresh, in the batches that were counted. Reads the event log only.
    """
    from penstock.events.codec import json_ready
    from penstock.graph.identifier import Identifier
    from penstock.observe.watermark import advise

    read_check(config, "watermark", {})(Identifier.parse(table, default_schema=config.schema))
    found = advise(config.storage, table, default_schema=config.schema, target=target)
    if as_json:
        print_json(json_ready({"flows": found.flows, "not_measured": found.not_measured}))
        return
    for advice in found.flows:
        _print(advice)
    for each in found.not_measured:
        note(f"Not measured is the flow '{each.flow}': {each.reason}.")


def _print(advice: WatermarkAdvice) -> None:
    from penstock.observe.numbers import byte_size, count, duration_ms
    from penstock.observe.watermark import delay_text

    shown = _listed_delays(advice)
    waits = any(cost.waits_ms is not None for cost in shown)
    state = any(cost.state_rows is not None for cost in shown)
    columns = [("delay", False), ("rows lost", True), ("per million", True), ("at most (95 %)", True)]
    columns += [("window waits", True)] if waits else []
    columns += [("state rows", True), ("state", True)] if state else []
    rows = [
        [
            delay_text(cost.delay_ms),
            count(cost.lost),
            _share(cost.per_million),
            _share(cost.at_most_per_million),
            *([duration_ms(cost.waits_ms)] if waits else []),
            *([count(cost.state_rows), byte_size(cost.state_bytes)] if state else []),
            ", ".join(_marks(cost, advice)),
        ]
        for cost in shown
    ]
    title = advice.dataset if advice.dataset.endswith(f".{advice.flow}") else f"{advice.dataset}, flow {advice.flow}"
    print_table([*columns, ("", False)], rows, title=title)
    note(_based_on(advice))
    if advice.recommended_ms is not None:
        delay = delay_text(advice.recommended_ms)
        column = "…" if advice.column is None else f'"{advice.column}"'
        note(f'Recommended for at most {advice.target:g} rows of a million: withWatermark({column}, "{delay}")')
    elif advice.rows < advice.rows_needed:
        note(
            f"Too few rows to promise at most {advice.target:g} of a million: that takes {advice.rows_needed:,} "
            "without a loss. --target allows more."
        )
    else:
        note(f"No delay loses at most {advice.target:g} of a million: rows come later. --target allows more.")


def _based_on(advice: WatermarkAdvice) -> str:
    batches = f"{advice.all_batches:,} {'batch' if advice.all_batches == 1 else 'batches'}"
    if advice.batches == advice.all_batches:
        return f"{plural(advice.rows, 'row')} measured in {batches}."
    return (
        f"{plural(advice.rows, 'row')} measured, in {advice.batches:,} of {batches}: "
        f"{advice.rows_read:,} of {plural(advice.all_rows_read, 'row')} read."
    )


def _listed_delays(advice: WatermarkAdvice) -> list[DelayCost]:
    """The shortest delay of each loss, and those that have a mark."""
    found: list[DelayCost] = []
    for cost in advice.delays:
        if not found or cost.lost != found[-1].lost or _marks(cost, advice):
            found.append(cost)
    return found


def _marks(cost: DelayCost, advice: WatermarkAdvice) -> list[str]:
    marks = {"current": advice.current_ms, "recommended": advice.recommended_ms}
    return [word for word, delay in marks.items() if delay == cost.delay_ms]


def _share(per_million: float) -> str:
    return f"{per_million:,.0f}" if per_million >= 100 or not per_million else f"{per_million:.2g}"

"""`/flows/DATASET?flow=NAME`: whether a flow keeps up, where its time goes, what it keeps in state."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request

from penstock.dashboard.log.live_log import Snapshot
from penstock.dashboard.rendering import dataset_path
from penstock.dashboard.site import Page, Site, missing_page, unknown_dataset
from penstock.observe.flows.definitions import FlowDefinition
from penstock.observe.lateness import EDGES_MS, LatenessBar, lateness_bars
from penstock.observe.watermark import WatermarkAdvice, delay_text

_LOSS = 100  # rows of a million, as `penstock watermark` takes it


def flow(site: Site, snapshot: Snapshot, request: Request) -> Page:
    """Makes the page; without `flow` it is that of the dataset's first one."""
    found = snapshot.status.dataset(request.path_params["name"])
    if found is None:
        return unknown_dataset(snapshot, request.path_params["name"])
    name = request.query_params.get("flow")
    with site.log.lock:
        projections = site.log.projections
        flows = projections.flows.of(found.name)
        chosen = next((each for each in flows if name is None or each.flow.casefold() == name.casefold()), None)
        if chosen is None:
            return missing_page(
                f"There is no flow '{name}' into {found.name}" if name else f"No flow writes into {found.name}",
                "",
                link=dataset_path(found.name),
                words="To the dataset",
                command="penstock graph",
            )
        same = chosen.flow.casefold()
        has_series = any(len(one) for one in projections.series.of(found.name, flow=chosen.flow))
        throughput = next(
            (each for each in projections.throughput.of(found.name) if each.flow.casefold() == same), None
        )
        advice = projections.watermark.advice(found.name, target=_LOSS)
        not_measured = projections.watermark.not_measured(found.name)
    measured = next((each for each in advice if each.flow.casefold() == same), None)
    context = {
        "dataset": found,
        "flow": chosen,
        "others": [each.flow for each in flows if each is not chosen],
        "throughput": throughput,
        "last": chosen.last,
        "has_series": has_series,
        "lateness": None if measured is None else lateness_model(measured),
        "not_measured": next((each.reason for each in not_measured if each.flow.casefold() == same), None),
        "checkpoint": None if chosen.checkpoint is None else checkpoint_model(chosen),
        "problems": [each for each in snapshot.problems if each.dataset == found.name],
    }
    return Page("flow.html", "flow", context=context)


def lateness_model(advice: WatermarkAdvice) -> dict[str, Any]:
    """Returns how many rows came how late, and what delays would have lost: those at the edges, and those marked."""
    bars = lateness_bars(advice.late, advice.current_ms)
    marked = {advice.current_ms, advice.recommended_ms, advice.delays[-1].delay_ms}
    most = max(each.lost for each in advice.delays)
    return {
        "rows": advice.rows,
        "in_time": advice.rows - sum(bar.rows for bar in bars),
        "target": advice.target,
        "too_few": advice.rows_needed if advice.recommended_ms is None and advice.rows < advice.rows_needed else None,
        "bars": [{"late": _interval(bar), "rows": bar.rows, "is_lost": bar.lost} for bar in bars],
        "most": max(1, *(bar.rows for bar in bars)),
        "delays": [
            {
                "delay": delay_text(each.delay_ms),
                "lost": each.lost,
                "of": max(most, 1),
                "is_current": each.delay_ms == advice.current_ms,
                "is_recommended": each.delay_ms == advice.recommended_ms,
            }
            for each in advice.delays
            if each.delay_ms in EDGES_MS or each.delay_ms in marked
        ],
    }


def _interval(bar: LatenessBar) -> str:
    begin = delay_text(bar.begin_ms)
    return f"{begin} or more" if bar.end_ms is None else f"{begin} to {delay_text(bar.end_ms)}"


def checkpoint_model(flow: FlowDefinition) -> dict[str, Any]:
    """Returns where the flow's sources were read to, as short JSON."""
    assert flow.checkpoint is not None
    return {
        "query_id": flow.checkpoint.query_id,
        "batch_id": None if flow.last is None else flow.last.batch_id,
        "offsets": [
            (name, json.dumps(offset, ensure_ascii=False)[:400]) for name, offset in flow.checkpoint.offsets.items()
        ],
    }

"""`/flows/DATASET?flow=NAME`: whether a flow keeps up, where its time goes, what it keeps in state."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request

from penstock.dashboard import page_models as models
from penstock.dashboard.live_log import Snapshot
from penstock.dashboard.rendering import dataset_path
from penstock.dashboard.site import Page, Site, missing_page, unknown_dataset
from penstock.observe.flow_definitions import FlowDefinition
from penstock.observe.watermark import WatermarkAdvice, delay_text

_LOSS = 100.0  # rows of a million, as `penstock watermark` takes it
_DELAYS = 10


def flow(site: Site, snapshot: Snapshot, request: Request) -> Page:
    """Makes the page; without `flow` it is that of the dataset's first one."""
    found = snapshot.status.dataset(request.path_params["name"])
    if found is None:
        return unknown_dataset(snapshot, request.path_params["name"])
    asked = request.query_params.get("flow")
    with site.log.lock:
        projections = site.log.projections
        flows = projections.flows.of(found.name)
        chosen = next((each for each in flows if asked is None or each.flow.casefold() == asked.casefold()), None)
        if chosen is None:
            return missing_page(
                f"There is no flow '{asked}' into {found.name}" if asked else f"No flow writes into {found.name}",
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
        "dataset": models.DatasetRow.of(found),
        "flow": models.flow_row(chosen, throughput),
        "others": [each.flow for each in flows if each is not chosen],
        "running": models.is_running(snapshot.status.update),
        "throughput": throughput,
        "last": chosen.last,
        "definition": chosen,
        "has_series": has_series,
        "lateness": None if measured is None else lateness_model(measured),
        "not_measured": next((each.reason for each in not_measured if each.flow.casefold() == same), None),
        "checkpoint": None if chosen.checkpoint is None else checkpoint_model(chosen),
        "problems": [each for each in snapshot.problems if each.dataset == found.name],
    }
    return Page("flow.html", "flow", context=context)


def lateness_model(advice: WatermarkAdvice) -> dict[str, Any]:
    """Returns a bar for each delay, from the present one's loss on, with what it would have lost."""
    most = max((each.lost for each in advice.delays), default=0)
    shown = advice.delays if len(advice.delays) <= _DELAYS else _thinned(advice)
    return {
        "rows": advice.rows,
        "current": delay_text(advice.current_ms),
        "recommended": None if advice.recommended_ms is None else delay_text(advice.recommended_ms),
        "delays": [
            {
                "delay": delay_text(each.delay_ms),
                "lost": each.lost,
                "of": max(most, 1),
                "is_current": each.delay_ms == advice.current_ms,
                "is_recommended": each.delay_ms == advice.recommended_ms,
            }
            for each in shown
        ],
    }


def _thinned(advice: WatermarkAdvice) -> list[Any]:
    step = len(advice.delays) / _DELAYS
    kept = {advice.delays[int(number * step)].delay_ms for number in range(_DELAYS)}
    kept |= {advice.current_ms, advice.delays[-1].delay_ms, advice.recommended_ms or advice.current_ms}
    return [each for each in advice.delays if each.delay_ms in kept]


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

"""A dashboard of Grafana over the metrics, made from a table of its panels."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

_CHOSEN: Final = 'pipeline=~"$pipeline",dataset=~"$dataset"'


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel: queries with what each line is called, `$chosen` for what the viewer chose; `unit` as Grafana says."""

    title: str
    queries: tuple[tuple[str, str], ...]
    unit: str
    kind: str = "timeseries"
    width: int = 12


_BUCKETS: Final = "penstock_flow_batch_duration_seconds_bucket{$chosen}"
_FLOW: Final = "{{dataset}} {{flow}}"

PANELS: Final = (
    Panel("Failed flows", (('sum(penstock_flow_status{$chosen,status="FAILED"})', "failed"),), "none", "stat", 6),
    Panel("Falling behind", (("sum(penstock_flow_falling_behind{$chosen})", "flows"),), "none", "stat", 6),
    Panel(
        "Oldest table",
        (("max(time() - max by (pipeline, dataset) (penstock_flow_last_batch_timestamp_seconds{$chosen}))", "age"),),
        "s",
        "stat",
        6,
    ),
    Panel(
        "Broken accounts",
        (('sum(penstock_flow_accounts_total{$chosen,verdict="BROKEN"}) or vector(0)', "batches"),),
        "none",
        "stat",
        6,
    ),
    Panel(
        "Rows arriving and processed",
        (
            ("penstock_flow_input_rows_per_second{$chosen}", f"{_FLOW} in"),
            ("penstock_flow_processed_rows_per_second{$chosen}", f"{_FLOW} done"),
        ),
        "rowsps",
    ),
    Panel("Rows waiting at the sources", (("penstock_flow_backlog_rows{$chosen}", _FLOW),), "short"),
    Panel(
        "Duration of batches, 95 of 100",
        (
            (
                f"histogram_quantile(0.95, sum by (le, dataset, flow) (rate({_BUCKETS}[5m])))",
                _FLOW,
            ),
        ),
        "s",
    ),
    Panel(
        "Phases of the newest batch", (("penstock_flow_batch_phase_seconds{$chosen}", f"{_FLOW} {{{{phase}}}}"),), "s"
    ),
    Panel("Watermark behind the clock", (("time() - penstock_flow_watermark_timestamp_seconds{$chosen}", _FLOW),), "s"),
    Panel("Memory of state", (("penstock_flow_state_bytes{$chosen}", _FLOW),), "bytes"),
    Panel(
        "Rows that break an expectation",
        (("rate(penstock_expectation_failed_rows_total{$chosen}[5m])", "{{dataset}} {{expectation}}"),),
        "rowsps",
    ),
    Panel(
        "Rows dropped, quarantined, late",
        (
            ("rate(penstock_flow_dropped_rows_total{$chosen}[5m])", f"{_FLOW} dropped"),
            ("rate(penstock_flow_quarantined_rows_total{$chosen}[5m])", f"{_FLOW} quarantined"),
            ("rate(penstock_flow_late_rows_total{$chosen}[5m])", f"{_FLOW} late"),
        ),
        "rowsps",
    ),
)


def render_dashboard() -> str:
    """Returns the dashboard as Grafana imports it: JSON, with the data source to choose."""
    panels, x, y = [], 0, 0
    for number, panel in enumerate(PANELS, start=1):
        height = 4 if panel.kind == "stat" else 8
        panels.append(_panel(panel, number, {"x": x, "y": y, "w": panel.width, "h": height}))
        x += panel.width
        if x >= 24:
            x, y = 0, y + height
    document = {
        "title": "Penstock",
        "uid": "penstock",
        "tags": ["penstock"],
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {
            "list": [
                {"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus"},
                _variable("pipeline", "label_values(penstock_update_state, pipeline)"),
                _variable("dataset", 'label_values(penstock_flow_status{pipeline=~"$pipeline"}, dataset)'),
            ]
        },
        "panels": panels,
    }
    return json.dumps(document, indent=2) + "\n"


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    source = {"type": "prometheus", "uid": "${source}"}
    return {
        "id": number,
        "title": panel.title,
        "type": panel.kind,
        "datasource": source,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": source,
                "expr": query.replace("$chosen", _CHOSEN),
                "legendFormat": legend,
            }
            for index, (query, legend) in enumerate(panel.queries)
        ],
    }


def _variable(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "${source}"},
        "query": query,
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "current": {"text": "All", "value": "$__all"},
    }

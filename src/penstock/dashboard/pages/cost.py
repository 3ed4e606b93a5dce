"""`/cost`: what the pipeline costs on other schedules, drawn over how fresh its tables are."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from penstock.dashboard.log.live_log import Snapshot
from penstock.dashboard.site import Page, Site
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock.care.cost.estimate import Estimate
    from penstock.care.cost.measures import Measured

_GOOD_SECONDS: Final = 60.0
_MOST: Final = 50
_LONGEST_TEXT: Final = 60


class CostPage:
    """Makes the page. A simulation takes a second of the processor, so that an answer is good for a minute.

    What it needs is imported then: the other pages start sooner without.
    """

    def __init__(self) -> None:
        self._simulating = threading.Lock()
        self._answers: dict[tuple[Site, str, str], tuple[float, Mapping[str, Any]]] = {}

    def answer(self, site: Site, request: Request) -> Response:
        """Answers `/cost?price=&goal=`; it may take seconds."""
        given = tuple(request.query_params.get(name, "").strip()[:_LONGEST_TEXT] for name in ("price", "goal"))
        price, goal = given
        snapshot = site.log.snapshot()
        with self._simulating:
            at, context = self._answers.get((site, price, goal), (-_GOOD_SECONDS, {}))
            if time.monotonic() - at >= _GOOD_SECONDS:
                if len(self._answers) >= _MOST:
                    self._answers.clear()
                context = self._made(site, snapshot, price, goal)
                if snapshot.sums:  # else more of a long log is still to be read
                    self._answers[site, price, goal] = time.monotonic(), context
        return site.answer(Page("cost.html", "cost", context={**context, "price": price, "goal": goal}), snapshot)

    def _made(self, site: Site, snapshot: Snapshot, price: str, goal: str) -> Mapping[str, Any]:
        from penstock.care.cost.estimate import WhatIf, estimate
        from penstock.care.cost.prices import Prices, parse_money, read_prices
        from penstock.care.cost.schedules import schedules
        from penstock.config.values.interval import parse_interval

        name = snapshot.status.update.pipeline if snapshot.status.update is not None else "pipeline"
        context: dict[str, Any] = {"error": None, "found": None, "nothing_ran": snapshot.status.update is None}
        if context["nothing_ran"]:
            return context
        try:
            file = site.pipeline.prices
            prices = Prices() if file is None else read_prices(file, file.name)
            if price:
                prices = prices.with_hour(parse_money("price", price))
            what_if = WhatIf(goal=parse_interval(goal) if goal else None)
            found = estimate(self._measured(site, name), prices, schedules(), name=name, what_if=what_if)
        except PenstockError as error:
            return {**context, "error": {"condition": error.condition, "message": error.message, "fix": error.fix}}
        return {**context, "found": _shown(found)}

    def _measured(self, site: Site, name: str) -> Measured:
        from penstock.care.cost.measures import measured, with_stored_partitions

        with site.log.lock:
            projections = site.log.projections
            found = measured(projections.activity.flows(), projections.flows.declared(), name=name)
        return with_stored_partitions(found, site.log.storage)


def _shown(found: Estimate) -> dict[str, Any]:
    from penstock.care.cost import report

    currency = found.prices.currency
    known = [each for each in found.schedules if each.p95 is not None]
    columns, rows = report.schedule_table(found)
    table_columns, table_rows = report.cost_by_table(found)
    return {
        "points": {
            "unit": f"{report.unit(currency)} a day",
            "goal": found.what_if.goal,
            "schedules": [
                {
                    "name": each.schedule.name,
                    "cost": each.cost,
                    "shown": report.amount(each.cost, currency),
                    "seconds": each.p95,
                    "frontier": each.on_frontier,
                    "recommended": each.recommended,
                }
                for each in sorted(known, key=lambda each: each.p95 or 0.0)
            ],
        },
        "summary": "; ".join(
            f"{each.schedule.name}: {report.amount(each.cost, currency)}, {report.freshness_text(each.p95)}"
            for each in known
        ),
        "columns": columns,
        "rows": rows,
        "table_columns": table_columns,
        "table_rows": table_rows,
        "chosen": found.chosen.schedule.name,
        "conclusion": report.conclusion(found) if found.what_if.goal is not None else "",
        "prices": report.prices_text(found),
        "confidence": report.confidence(found),
    }

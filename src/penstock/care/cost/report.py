"""An estimate as words, as tables for a terminal and a pull request, and as JSON."""

from __future__ import annotations

from typing import Any, Final

from penstock.care.cost.estimate import Estimate, ScheduleCost
from penstock.care.cost.measures import DAY, Measured, MeasuredFlow
from penstock.care.cost.schedules import length_text
from penstock.observe.flows.activity import SPARK_PARTITIONS
from penstock.observe.numbers import UNKNOWN, duration_ms, short_count

_MILLION: Final = 1_000_000

Columns = list[tuple[str, bool]]
Rows = list[list[str]]


def amount(value: float, currency: str | None) -> str:
    """Returns an amount with two decimals, of a small one three digits; hours, where there are no prices."""
    if currency is None:
        return f"{value:,.1f} h" if value >= 0.1 or not value else f"{value:.2g} h"
    return f"{value:,.2f}" if value >= 0.1 or not value else f"{value:.3g}"


def unit(currency: str | None) -> str:
    """Returns what amounts are in, as a heading."""
    if currency is None:
        return "cluster"
    return currency or "cost"


def saving_text(share: float) -> str:
    """Returns a share as `75 %`, `99.6 %`."""
    return f"{100 * share:.1f} %" if 0.99 <= share < 1 else f"{100 * share:.0f} %"


def freshness_text(seconds: float | None) -> str:
    """Returns a freshness as `2.4 s`, `18 min`, `3 h 5 min`; to seconds it is not known above some minutes."""
    if seconds is None:
        return UNKNOWN
    return duration_ms(1000 * (seconds if seconds < 600 else 60 * round(seconds / 60)))


def schedule_table(found: Estimate) -> tuple[Columns, Rows]:
    """Returns one row a schedule; a heading with True is of a column of numbers."""
    currency = found.prices.currency
    columns = [
        ("schedule", False),
        (f"{unit(currency)} a day", True),
        ("saves", True),
        ("fresh p50", True),
        ("p95", True),
        ("cluster on", True),
        ("runs a day", True),
        ("", False),
    ]
    rows = [
        [
            each.schedule.name,
            amount(each.cost, currency),
            saving_text(each.saving),
            freshness_text(each.p50),
            freshness_text(each.p95),
            f"{each.hours_on:.1f} h" if each.hours_on >= 0.1 else duration_ms(3_600_000 * each.hours_on),
            short_count(each.runs) if each.runs else UNKNOWN,
            ", ".join(marks(each)),
        ]
        for each in found.schedules
    ]
    return columns, rows


def marks(each: ScheduleCost) -> list[str]:
    """Returns what is special about a schedule."""
    words = ["recommended"] if each.recommended else []
    words += ["frontier"] if each.on_frontier else []
    if each.is_extrapolated:
        words.append(f"extrapolated {each.extrapolated:,.{0 if each.extrapolated >= 10 else 1}f}x")
    return words


def cost_by_table(found: Estimate) -> tuple[Columns, Rows]:
    """Returns one row a table, on the chosen schedule; none where nothing was measured."""
    currency = found.prices.currency
    columns = [
        ("table", False),
        (f"{unit(currency)} a day", True),
        ("per million rows", True),
        ("rows a day", True),
        ("busy a day", True),
        ("fresh p50", True),
        ("p95", True),
    ]
    rows = [
        [
            each.dataset,
            amount(each.cost, currency),
            UNKNOWN if each.per_million is None else amount(each.per_million, currency),
            short_count(each.rows) if each.rows else UNKNOWN,
            duration_ms(1000 * each.busy),
            freshness_text(each.p50),
            freshness_text(each.p95),
        ]
        for each in (() if found.measured.even else found.chosen.tables)
    ]
    return columns, rows


def conclusion(found: Estimate) -> str:
    """Returns which schedule to take, as a sentence."""
    goal, best = found.what_if.goal, found.chosen
    if goal is None:
        return "With --freshness INTERVAL, the cheapest schedule for that goal is recommended."
    wanted = f"95 % of the rows can be read within {length_text(goal)}"
    if not best.recommended:
        return f"No schedule is that fresh: {wanted}. Add cores (--cores), or a shorter --trigger or --every."
    return f"The cheapest with which {wanted}: {best.schedule.name}."


def prices_text(found: Estimate) -> str:
    """Returns what an hour costs and where that is from."""
    if found.prices.currency is None:
        return "Without prices: amounts are hours of the cluster. Give --hourly-price, or a price file with --prices."
    cores = f", {found.cores:g} cores" if found.cores else ""
    dated = f", as of {found.prices.as_of}" if found.prices.as_of else ""
    source = f", from {found.prices.shown}{dated}" if found.prices.shown else ""
    hour = f"{amount(found.hour, found.prices.currency)} {found.prices.currency}".rstrip()
    return f"An hour of the cluster{cores}: {hour}{source}."


def markdown(found: Estimate) -> str:
    """Returns the tables and what they rest on, for a pull request."""
    parts = [f"### What `{found.name}` costs", _markdown_table(*schedule_table(found))]
    columns, rows = cost_by_table(found)
    if rows:
        parts += [f"On the schedule *{found.chosen.schedule.name}*:", _markdown_table(columns, rows)]
    sentences = [prices_text(found), conclusion(found), *confidence(found)]
    parts.append("\n".join(f"- {_escaped(each)}" for each in sentences))
    return "\n\n".join(parts)


def _markdown_table(columns: Columns, rows: Rows) -> str:
    lines = [
        [heading or "note" for heading, _ in columns],
        ["---:" if numeric else "---" for _, numeric in columns],
        *([_escaped(cell) for cell in row] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escaped(text: str) -> str:
    for character in ("\\", "|", "<", "`", "*", "_"):
        text = text.replace(character, f"\\{character}")
    return text


def confidence(found: Estimate) -> list[str]:
    """Returns what the numbers rest on and where they are extrapolated, as sentences for people."""
    measured, lines = found.measured, []
    if measured.even:
        lines.append("Nothing was measured: rows are taken to arrive evenly, and a run to take what you gave.")
    else:
        batches = "batch" if measured.batches == 1 else "batches"
        lines.append(f"{measured.days:.3g} days of history, {measured.batches:,} {batches}.")
        lines += _about_batches(found)
    if found.what_if.cores is not None:
        lines.append(
            "Other cores are extrapolated: the part of a batch that grows with its rows is divided by them, "
            "the fixed part stays (Amdahl's law)."
        )
    if found.what_if.spot:
        lines.append("Interruptions are drawn at random with a fixed seed; an interrupted batch begins again.")
    if measured.session_start is None and not measured.even and found.what_if.run_time is None:
        lines.append("No update was seen to begin: the start of a session counts as 0 seconds.")
    if measured.stop is None and not measured.even and found.what_if.run_time is None:
        lines.append("No update was seen to end by itself: what a run does after its last batch counts as 0 seconds.")
    starts_seen = found.what_if.run_time is not None or any(flow.activity.stops_seen for flow in measured.flows)
    if len(measured.flows) > 1 and not starts_seen:
        lines.append(
            "How runs begin is from runs that go on: what AvailableNow costs, and how fresh its tables are, is rough, "
            "and likely too good."
        )
    if found.prices.cluster.start == 0 and found.what_if.run_time is None:
        lines.append("The price file has no 'cluster.start': machines count as there at once.")
    guessed = [flow.flow for flow in measured.flows if flow.activity.state_operators and flow.partitions is None]
    if guessed and (found.prices.write_per_1000 or found.prices.read_per_1000):
        lines.append(
            f"How many partitions the state has is not known, so that requests count {SPARK_PARTITIONS} of them, "
            f"Spark's default: {', '.join(guessed)}."
        )
    if beside := [each.dataset for each in found.chosen.tables if each.busy > DAY]:
        lines.append(
            f"More than a day busy a day, because several flows run alongside each other: {', '.join(beside)}."
        )
    if found.left_out:
        names = ", ".join(each.name for each in found.left_out)
        lines.append(f"Left out, because the history is shorter than their interval: {names}.")
    if measured.unknown:
        lines.append(f"Not measured, for want of a second batch: {', '.join(measured.unknown)}.")
    return lines


def _about_batches(found: Estimate) -> list[str]:
    measured, lines = found.measured, []
    errors = [flow.simulated.time.error for flow in measured.flows if not flow.simulated.view]
    if errors:
        lines.append(f"A batch differs from the fit of its time by {100 * max(errors):.0f} % (median, worst flow).")
    lines.append(f"When rows arrived is known to {freshness_text(measured.resolution)}.")
    if any(each.is_extrapolated for each in found.schedules):
        lines.append("Extrapolated: batches would be larger, by the factor shown, than the largest that was measured.")
    times = [(flow.flow, flow.simulated.time) for flow in measured.flows if not flow.simulated.view]
    if one_size := [flow for flow, time in times if time.one_size]:
        lines.append(
            f"Batches of one size only, so that the time of others is a guess on the safe side: {', '.join(one_size)}."
        )
    if cold := [flow for flow, time in times if time.only_first]:
        lines.append(
            f"First batches of updates only, which are slower: always on is fresher than said: {', '.join(cold)}."
        )
    partly = [each for each in found.schedules if each.days < 0.95 * measured.days and each.schedule.always_on]
    if partly:
        days = min(each.days for each in partly)
        lines.append(f"Of schedules that are always on, parts of the history were replayed, {days:.2g} days at least.")
    return lines


def to_json(found: Estimate) -> dict[str, Any]:
    """Returns the document of `cost --json`; times in seconds, money and counts a day."""
    return {
        "pipeline": found.name,
        "currency": found.prices.currency,
        "prices": found.prices.shown or None,
        "prices_as_of": found.prices.as_of or None,
        "price_per_hour": found.hour,
        "cores": found.cores,
        "goal_seconds": found.what_if.goal,
        "history_days": 0.0 if found.measured.even else found.measured.days,
        "session_start_seconds": found.measured.session_start,
        "flows": [] if found.measured.even else [_flow_json(flow, found.measured) for flow in found.measured.flows],
        "schedules": [_schedule_json(each) for each in found.schedules],
        "left_out": [each.name for each in found.left_out],
        "not_measured": list(found.measured.unknown),
        "confidence": confidence(found),
    }


def _flow_json(flow: MeasuredFlow, measured: Measured) -> dict[str, Any]:
    time = flow.simulated.time
    return {
        "dataset": flow.dataset,
        "flow": flow.flow,
        "batches": flow.activity.batches,
        "rows": flow.activity.rows,
        "busy_seconds_per_day": flow.busy_per_day(measured.days),
        "rows_per_day": flow.simulated.arrivals.total / measured.days,
        "fixed_seconds": time.fixed,
        "seconds_per_million_rows": time.per_row * _MILLION,
        "at_least_seconds": time.at_least,
        "warm_up_seconds": time.warm_up,
        "relative_error": time.error,
        "largest_batch_rows": time.most_rows,
    }


def _schedule_json(each: ScheduleCost) -> dict[str, Any]:
    return {
        "schedule": each.schedule.name,
        "kind": each.schedule.kind.value,
        "interval_seconds": each.schedule.interval,
        "cost": each.cost,
        "compute": each.compute,
        "requests": each.requests,
        "storage": each.storage,
        "saving": each.saving,
        "cluster_hours": each.hours_on,
        "runs": each.runs,
        "batches": each.batches,
        "freshness_p50_seconds": each.p50,
        "freshness_p95_seconds": each.p95,
        "replayed_days": each.days,
        "extrapolated": each.extrapolated if each.is_extrapolated else None,
        "on_frontier": each.on_frontier,
        "recommended": each.recommended,
        "tables": [
            {
                "dataset": table.dataset,
                "cost": table.cost,
                "rows": table.rows,
                "cost_per_million_rows": table.per_million,
                "busy_seconds": table.busy,
                "freshness_p50_seconds": table.p50,
                "freshness_p95_seconds": table.p95,
            }
            for table in each.tables
        ],
    }

"""Times what expectations cost: `python -m benchmarks.expectations [--rows N] [--repeat N]`.

All variants run in one session, in turn, round after round, so that a slow moment of the machine meets all of them; a
ratio is the median of those of the rounds. The time of a run is that of the flow's batches after the first one, as the
event log tells it.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections import Counter
from dataclasses import replace
from operator import truediv
from pathlib import Path
from typing import Any

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish
from benchmarks.expectations.by_hand import quarantine_rows, ten_conditions
from benchmarks.expectations.variants import (
    PUT_ASIDE,
    TEN_CONDITIONS,
    VARIANTS,
    WARM_UP,
    Variant,
    check_totals,
    write_input,
    write_project,
)

_BY_HAND = {TEN_CONDITIONS: ten_conditions, PUT_ASIDE: quarantine_rows}


def main() -> int:
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="expectations-", dir=given.work) as folder:
        seconds = _measure(Path(folder), given)
    runs = [_result(variant, seconds) for variant in VARIANTS]
    arguments = {name: getattr(given, name) for name in ("rows", "batches", "repeat", "warm_up")}
    publish("expectations", arguments, runs, given.results)
    return 0


def _measure(folder: Path, given: argparse.Namespace) -> dict[str, list[float]]:
    from benchmarks.session import start_session, stop_session
    from penstock.spark.session.launch import SessionConfig

    source = folder / "input"
    bad = write_input(source, given.rows, given.batches)
    seconds: dict[str, list[float]] = {variant.what: [] for variant in VARIANTS}
    spark = start_session(SessionConfig("expectations", python_roots=(folder,)))
    for turn in range(-given.warm_up, given.repeat):
        for variant in VARIANTS:
            project = folder / f"{turn}-{VARIANTS.index(variant)}"
            if (by_hand := _BY_HAND.get(variant.what)) is None:
                write_project(project, variant, source)
                took, total = _seconds(project, spark)
            else:
                took, total = by_hand(spark, source, project)
            check_totals(variant.what, total, given.rows, bad)
            shutil.rmtree(project)
            if turn >= 0:
                seconds[variant.what].append(took)
            print(f"{turn}: {variant.what}: {took:.2f} s", flush=True)
    stop_session(spark)
    return seconds


def _seconds(project: Path, spark: Any) -> tuple[float, Counter[str]]:
    from penstock.config import load_project
    from penstock.events import read_events
    from penstock.plan.selection import RefreshSelection
    from penstock.runtime import run_update

    config = replace(load_project(project), storage=str(project / ".penstock"))
    outcome = run_update(config, RefreshSelection(), spark=spark)
    if outcome.errors:
        raise SystemExit(str(outcome.errors[0]))
    total: Counter[str] = Counter()
    milliseconds = 0
    for event in read_events(config.storage):
        metrics = event.details.get("flow_progress", {}).get("metrics")
        if metrics is None:
            continue
        total.update({key: metrics[key] for key in ("num_output_rows", "dropped_records", "quarantined_records")})
        if (event.origin.batch_id or 0) >= WARM_UP:
            milliseconds += metrics["batch_duration_ms"]
    return milliseconds / 1000, total


def _result(variant: Variant, seconds: dict[str, list[float]]) -> dict[str, Any]:
    own, ratio = seconds[variant.what], None
    if variant.base is not None:
        ratio = round(statistics.median(map(truediv, own, seconds[variant.base])), 3)
    return {
        "what": variant.what,
        "seconds": [round(each, 3) for each in own],
        "base": variant.base,
        "ratio": ratio,
        "goal": variant.goal,
    }


def _arguments() -> argparse.Namespace:
    parser = parser_of("expectations", __doc__)
    parser.add_argument("--rows", type=int, default=2_400_000)
    parser.add_argument("--batches", type=int, default=3, help="of a run; the first one is not timed")
    parser.add_argument("--repeat", type=int, default=5, help="rounds that are measured")
    parser.add_argument("--warm-up", type=int, default=1, help="rounds before those, not measured")
    return parse(parser)


if __name__ == "__main__":
    raise SystemExit(main())

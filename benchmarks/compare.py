"""Prints benchmark results as a table: `python -m benchmarks.compare [FILE…]`, by default the newest of each kind.

Several runs of one system are shown by their median, with the fastest and the slowest.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.results import FOLDER, write_result

_BASELINE = "hand-written-tuned"


def main() -> int:
    files = [Path(name) for name in sys.argv[1:]] or _newest(FOLDER)
    if not files:
        print(f"no results in {FOLDER}; 'make bench' writes some")
        return 1
    print(render(files))
    return 0


def render(files: Iterable[Path]) -> str:
    """Returns the tables of these result files as Markdown."""
    return "\n\n".join(_render(json.loads(path.read_text()), path.name) for path in files)


def publish(benchmark: str, arguments: dict[str, Any], runs: list[dict[str, Any]], folder: Path) -> None:
    """Writes the result of a benchmark and prints its table."""
    path = write_result(benchmark, arguments, runs, folder)
    print(render([path]))
    print(f"written to {path}")


def _render(result: dict[str, Any], name: str) -> str:
    host, versions = result["host"], result["versions"]
    run = f"**{result['benchmark']}**, {result['date']}, commit {result['commit']}, `{result['command']}` ({name})"
    machine = f"{host['processor']}, {host['cores']} cores, {host['memory_gb']} GB; Python {versions['python']}, "
    machine += f"Java {versions['java']}, PySpark {versions['pyspark']}, Delta {versions['delta-spark']}"
    table = _TABLES.get(result["benchmark"], _startup_table)
    return "\n\n".join([run, machine, table(result["runs"])])


def _orders_table(runs: list[dict[str, Any]]) -> str:
    of: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        of.setdefault(run["system"], []).append(run)
    good = {system: [run for run in those if run["correct"]] for system, those in of.items()}
    base = _median(good.get(_BASELINE, []), "seconds")
    rows = []
    for system, those in of.items():
        right = good[system]
        if not right:
            rows.append([system, "failed", "", "", "", "", f"0 of {len(those)}"])
            continue
        seconds = _median(right, "seconds")
        assert seconds is not None
        rows.append(
            [
                system,
                _spread(right, "seconds"),
                f"{seconds / base:.2f}" if base else "",
                f"{_median(right, 'rows_per_second'):,.0f}",
                f"{_median(right, 'peak_memory_mb'):,.0f}",
                f"{_median(right, 'cpu_seconds'):.0f}",
                f"{len(right)} of {len(those)}",
            ]
        )
    return _markdown(["system", "seconds", "of tuned", "rows/s", "peak MB", "CPU s", "tables right"], rows)


def _startup_table(runs: list[dict[str, Any]]) -> str:
    rows = [
        [
            run["what"],
            _seconds(run),
            f"{statistics.median(run['processor_seconds']):.2f}" if "processor_seconds" in run else "",
            *_goal_of_seconds(run),
        ]
        for run in runs
    ]
    return _markdown(["what", "seconds", "of processors", "goal", "met"], rows)


def _goal_of_seconds(run: dict[str, Any]) -> tuple[str, str]:
    if run["goal"] is None:
        return "", ""
    return f"{run['goal']:g}", "yes" if statistics.median(run["seconds"]) <= run["goal"] else "no"


def _steps_table(runs: list[dict[str, Any]]) -> str:
    rows = [
        [
            run["what"],
            _seconds(run),
            f"{statistics.median(run['processor_seconds']):.2f}",
            *("" if run[key] is None else f"{run[key]:.2f}" for key in ("ratio", "processor_ratio")),
            *_goal_of_seconds(run),
        ]
        for run in runs
    ]
    return _markdown(["what", "seconds", "of processors", "of the other's", "of its processors", "goal", "met"], rows)


def _ratio_table(runs: list[dict[str, Any]]) -> str:
    rows = [
        [
            run["what"],
            _seconds(run),
            "" if run["ratio"] is None else f"{run['ratio']:.2f} of {run['base']}",
            "" if run["goal"] is None else f"{run['goal']:.2f}",
            "" if run["goal"] is None else ("yes" if run["ratio"] <= run["goal"] else "no"),
        ]
        for run in runs
    ]
    return _markdown(["what", "seconds", "ratio", "goal", "met"], rows)


def _throughput_table(runs: list[dict[str, Any]]) -> str:
    rows = [
        [
            run["what"],
            _seconds(run),
            f"{run['rows_per_second']:,}",
            "" if run["goal_rows_per_second"] is None else f"{run['goal_rows_per_second']:,}",
            "" if run["ratio"] is None else f"{run['ratio']:.2f} of {run['base']}",
            "" if run["goal"] is None else f"{run['goal']:.2f}",
            "" if run["goal"] is run["goal_rows_per_second"] is None else ("yes" if _is_met(run) else "no"),
        ]
        for run in runs
    ]
    return _markdown(["what", "seconds", "rows/s", "at least", "ratio", "at most", "met"], rows)


def _megabytes_table(runs: list[dict[str, Any]]) -> str:
    rows = [
        [
            run["what"],
            _seconds(run),
            f"{run['megabytes_per_second']:,}",
            "" if run["goal"] is None else f"{run['goal']:,}",
            "" if run["goal"] is None else ("yes" if run["megabytes_per_second"] >= run["goal"] else "no"),
        ]
        for run in runs
    ]
    return _markdown(["what", "seconds", "MB/s", "at least", "met"], rows)


def _goals_table(runs: list[dict[str, Any]]) -> str:
    rows = [
        [
            run["what"],
            f"{run['value']:,} {run['unit']}".strip(),
            "" if run["goal"] is None else f"{run['goal']:,} {run['unit']}".strip(),
            "" if run["goal"] is None else ("yes" if run["value"] <= run["goal"] else "no"),
        ]
        for run in runs
    ]
    return _markdown(["what", "value", "at most", "met"], rows)


def _is_met(run: dict[str, Any]) -> bool:
    quick = run["rows_per_second"] >= (run["goal_rows_per_second"] or 0)
    return bool(quick and (run["goal"] is None or run["ratio"] <= run["goal"]))


def _saved_table(runs: list[dict[str, Any]]) -> str:
    rows = [
        [
            run["what"],
            _seconds(run),
            f"{statistics.median(run['seconds_off']):.2f}",
            f"{statistics.median(run['processor_seconds']):.2f}",
            f"{statistics.median(run['processor_seconds_off']):.2f}",
            f"{run['saved']:.1f} %",
            f"{run['processor_saved']:.1f} %",
            "yes" if max(run["saved"], run["processor_saved"]) >= run["goal"] else "no",
        ]
        for run in runs
    ]
    headings = ["what", "seconds with it", "without", "of processors", "without", "saved", "of processors"]
    return _markdown([*headings, "3 % or more"], rows)


def _safety_table(runs: list[dict[str, Any]]) -> str:
    rows = [
        [
            run["what"],
            f"{statistics.median(run['seconds']):.3f}",
            f"{run['p95']:.3f}",
            "" if run["goal"] is None else f"{run['goal']:.2f}",
            "" if run["goal"] is None else ("yes" if run["p95"] <= run["goal"] else "no"),
        ]
        for run in runs
    ]
    return _markdown(["what (seconds, but for shares)", "median", "95 of 100 within", "goal", "met"], rows)


def _latency_table(runs: list[dict[str, Any]]) -> str:
    rows = [
        [
            run["what"],
            *(f"{run[key]:.2f}" if key in run else "" for key in ("p50_seconds", "p99_seconds", "largest_seconds")),
            f"{run['rows_per_second']:,}" if "rows_per_second" in run else "",
            "yes" if run["correct"] else "no",
        ]
        for run in runs
    ]
    return _markdown(["what", "p50 s", "p99 s", "largest s", "rows/s", "rows right"], rows)


def _changes_table(runs: list[dict[str, Any]]) -> str:
    rows = [
        [
            run["what"],
            _seconds(run),
            f"{run['rows_per_second']:,}",
            f"{run['goal_rows_per_second']:,}",
            f"{run['ratio_to_hand']:.2f}",
            f"{run['jobs']:.0f}",
            ", ".join(f"{step} {seconds:.2f}" for step, seconds in run["steps"].items()),
        ]
        for run in runs
    ]
    return _markdown(["what", "seconds a batch", "rows/s", "goal", "of MERGE by hand", "jobs", "steps, seconds"], rows)


def _seconds(run: dict[str, Any]) -> str:
    seconds = run["seconds"]
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


def _median(runs: list[dict[str, Any]], key: str) -> float | None:
    return statistics.median(run[key] for run in runs) if runs else None


def _spread(runs: list[dict[str, Any]], key: str) -> str:
    values = [run[key] for run in runs]
    middle = f"{statistics.median(values):.1f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.1f} to {max(values):.1f})"


def _markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in [headings, *rows]) for column in range(len(headings))]
    lines = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in [headings, *rows]]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


_TABLES = {
    "accelerators": _saved_table,
    "auto_loader": _goals_table,
    "cdc": _changes_table,
    "cost": _goals_table,
    "dashboard": _goals_table,
    "event_log": _goals_table,
    "expectations": _ratio_table,
    "incremental": _goals_table,
    "jdbc": _throughput_table,
    "kafka": _latency_table,
    "kinesis": _megabytes_table,
    "lateness": _ratio_table,
    "messages": _throughput_table,
    "orders": _orders_table,
    "places": _ratio_table,
    "profile": _goals_table,
    "registration": _goals_table,
    "reliability": _safety_table,
    "stateful": _throughput_table,
    "testkit": _steps_table,
    "trade_views": _goals_table,
}


def _newest(folder: Path) -> list[Path]:
    latest = {path.stem.rpartition("-")[0]: path for path in sorted(folder.glob("*-*.json"))}
    return [latest[kind] for kind in sorted(latest)]


if __name__ == "__main__":
    raise SystemExit(main())

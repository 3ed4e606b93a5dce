"""Performance: files and batches, by the logs of the tables and the numbers of the newest batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from penstock.care.doctor.checks.outcome import (
    NO_ROW,
    NO_TABLE,
    Check,
    Fault,
    NotApplicable,
    Outcome,
    Passed,
    counted,
    judged,
    keeps_going,
    of_settings,
)
from penstock.care.doctor.facts import StorageFacts
from penstock.care.doctor.settings import SettingsFacts
from penstock.care.finding import Subject
from penstock.observe.flows.history import Batch, FlowHistory
from penstock.observe.numbers import byte_size, duration_ms, rate

_SMALL_FILES: Final = 50
_ENOUGH: Final = 10
"""Batches with rows without which nothing is said about a flow's batches."""

_OVERHEAD: Final = 0.5
_LONGEST_MS: Final = 600_000
_SHORT_MS: Final = 1_000
_INTERVALS: Final = (10, 30, 60, 120, 300)
_FILES: Final = {"cloudfiles", "json", "csv", "parquet", "text", "avro", "orc", "binaryfile", "xml"}


def _place(flow: FlowHistory) -> Subject:
    return Subject("flow", flow.name)


def _small_files(facts: StorageFacts) -> Outcome:
    tables = [each for each in facts.table_facts if each.error is None]
    if not tables:
        return NO_TABLE
    faults = [
        Fault(
            Subject("table", each.name),
            f"{each.small_files:,} of {each.files:,} files are small; a file has {byte_size(each.bytes // each.files)} "
            "on average",
            {"files": each.files, "small_files": each.small_files, "mean_bytes": each.bytes // each.files},
            commands=(f"penstock optimize {each.name}",),
        )
        for each in tables
        if each.small_files >= _SMALL_FILES
    ]
    files = sum(each.files for each in tables)
    return judged(faults, f"{counted(files, 'file')} in {counted(len(tables), 'table')}", files=files)


def _files_per_trigger(facts: StorageFacts) -> Outcome:
    flows = [
        each
        for each in facts.history.flows
        if {kind.casefold() for kind, _ in each.definition.sources} & _FILES
        and len(_durations(each.with_rows)) >= _ENOUGH
    ]
    if not flows:
        return NotApplicable(f"No flow that reads files has had {_ENOUGH} batches with rows.")
    faults = []
    for flow in flows:
        newest = [each for each in flow.with_rows if each.progress.batch_duration_ms is not None][-_ENOUGH:]
        waiting = [each.progress.backlog_files for each in newest]
        took = _took(newest)
        if took < _SHORT_MS and all(waiting):
            least = min(files for files in waiting if files is not None)
            faults.append(
                Fault(
                    _place(flow),
                    f"a batch takes {duration_ms(took)}, and each of the last {_ENOUGH} left at least "
                    f"{counted(least, 'file')} waiting: maxFilesPerTrigger is too small",
                    {"batch_ms": round(took), "files_waiting": least},
                )
            )
        elif took > _LONGEST_MS:
            evidence = f"a batch takes {duration_ms(took)}: maxFilesPerTrigger is too large"
            faults.append(Fault(_place(flow), evidence, {"batch_ms": round(took)}))
    return judged(faults, f"{counted(len(flows), 'flow')} that read files, none with a queue of short batches")


def _judged_flows(facts: StorageFacts) -> list[FlowHistory]:
    return [each for each in facts.history.flows if len(_durations(each.with_rows)) >= _ENOUGH]


def _durations(batches: Sequence[Batch]) -> list[int]:
    known = (each.progress.batch_duration_ms for each in batches)
    return [each for each in known if each is not None]


def _took(batches: Sequence[Batch]) -> float:
    """The milliseconds in which half of the batches were done."""
    return median(_durations(batches))


def _interval_long_enough(facts: StorageFacts, settings: SettingsFacts) -> Outcome:
    if not keeps_going(facts, settings):
        return NotApplicable(f"The trigger is {settings.trigger}: a run takes what is there and stops.")
    shares = {}
    for flow in _judged_flows(facts):
        known = [share for each in flow.with_rows if (share := each.overhead) is not None]
        if known:
            shares[flow.name] = flow, median(known)
    if not shares:
        return NotApplicable(f"No flow has had {_ENOUGH} batches with rows.")
    faults = []
    for flow, share in shares.values():
        if share > _OVERHEAD:
            took = _took(flow.with_rows)
            better = next((each for each in _INTERVALS if 1000 * each >= 10 * share * took), _INTERVALS[-1])
            faults.append(
                Fault(
                    _place(flow),
                    f"{share:.0%} of a batch ({duration_ms(share * took)} of {duration_ms(took)}) is overhead with "
                    f"trigger {_trigger(settings)}; with {better} seconds it is a tenth of the time at most",
                    {"overhead_percent": round(100 * share), "batch_ms": round(took), "interval_seconds": better},
                )
            )
    worst = max(share for _, share in shares.values())
    return judged(faults, f"at most {worst:.0%} of a batch is overhead", overhead_percent=round(100 * worst))


def _trigger(settings: SettingsFacts) -> str:
    """The trigger of a run that continues: that of the file, unless an option of the run has replaced it."""
    return settings.trigger if settings.continuous else "--continuous"


def _interval_short_enough(facts: StorageFacts) -> Outcome:
    flows = _judged_flows(facts)
    if not flows:
        return NotApplicable(f"No flow has had {_ENOUGH} batches with rows.")
    interval = None if facts.settings is None else facts.settings.interval
    faults, longest = list[Fault](), 0.0
    for flow in flows:
        took = _took(flow.with_rows)
        longest = max(longest, took)
        numbers = {"batch_ms": round(took)}
        if interval and took > 1000 * interval:
            evidence = f"a batch takes {duration_ms(took)}, longer than the trigger interval of {interval:g} s"
            faults.append(Fault(_place(flow), evidence, {**numbers, "interval_ms": round(1000 * interval)}))
        elif took > _LONGEST_MS:
            faults.append(Fault(_place(flow), f"a batch takes {duration_ms(took)}, and rows wait as long", numbers))
    return judged(
        faults, f"half of the batches of each flow take at most {duration_ms(longest)}", batch_ms=round(longest)
    )


def _keeps_up(facts: StorageFacts) -> Outcome:
    flows = [each for each in facts.history.flows if each.with_rows]
    if not flows:
        return NO_ROW
    faults = []
    for flow in flows:
        behind = flow.falling_behind
        if behind is not None:
            more, numbers = _needed(flow, facts.settings)
            faults.append(Fault(_place(flow), f"{behind}; {more}", numbers, since=flow.batches[0].at))
    return judged(faults, f"rows of {counted(len(flows), 'flow')} are processed as fast as they arrive")


def _needed(flow: FlowHistory, settings: SettingsFacts | None) -> tuple[str, dict[str, float]]:
    """Returns how much more the flow needs, by the rates measured with different numbers of executors."""
    newest = flow.with_rows[-1]
    arrive, done = newest.progress.input_rows_per_second, newest.progress.processed_rows_per_second
    if not arrive or not done or arrive <= done:
        return "the source reports how much waits, and not how fast it grows", {}
    times = f"it needs {arrive / done:.1f} times its rate of {rate(done)}"
    rates = flow.rates_by_executors()
    if len(rates) < 2:
        return f"{times}; how it scales is not measured, as the log has it with one number of executors only", {}
    (few, slow), (many, fast) = min(rates.items()), max(rates.items())
    gain = (fast - slow) / (many - few)
    if gain <= 0:
        return f"{times}; {many - few} more executors did not make it faster", {"rows_per_second_per_executor": 0}
    executors = -(-(arrive - done) // gain)
    cores = 1 if settings is None else int(settings.conf.get("spark.executor.cores") or 1)
    numbers = {
        "more_executors": executors,
        "more_cores": executors * cores,
        "rows_per_second_per_executor": round(gain, 1),
    }
    more = f"{executors * cores:.0f} more cores ({executors:.0f} executors)"
    return f"{times}: {more}, as each executor brought {rate(gain)} when it went from {few} to {many}", numbers


def _table_optimized(facts: StorageFacts) -> Outcome:
    if facts.settings is not None and facts.settings.maintenance:
        return Passed("runs maintain their tables (OPTIMIZE, VACUUM)")
    tables = [each for each in facts.table_facts if each.error is None and each.version >= _SMALL_FILES]
    if not tables:
        return NotApplicable(f"No table has {_SMALL_FILES} commits.")
    faults = [
        Fault(
            Subject("table", each.name),
            f"{each.version + 1:,} commits and {each.files:,} files, and no OPTIMIZE or VACUUM is recorded",
            {"commits": each.version + 1, "files": each.files},
            commands=(f"penstock optimize {each.name}", f"penstock vacuum {each.name}"),
        )
        for each in tables
        if each.name.casefold() not in {*facts.maintenance, *facts.history.maintained}
    ]
    return judged(faults, f"{counted(len(tables), 'table')} with OPTIMIZE and VACUUM on record")


CHECKS: Final[Mapping[str, Check]] = {
    "small-files": _small_files,
    "files-per-trigger": _files_per_trigger,
    "interval-long-enough": of_settings(_interval_long_enough),
    "interval-short-enough": _interval_short_enough,
    "keeps-up": _keeps_up,
    "table-maintained": _table_optimized,
}

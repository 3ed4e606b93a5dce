"""Performance: memory, state, partitions and skew, by the numbers of the newest batches and of the JVM that runs."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, median
from typing import Final

from penstock.care.doctor.checks.outcome import Check, Fault, NotApplicable, Outcome, counted, judged, of_settings
from penstock.care.doctor.facts import StorageFacts
from penstock.care.doctor.settings import SettingsFacts
from penstock.care.finding import Subject
from penstock.observe.numbers import byte_size

_MEMORY_STATE: Final = 100_000_000
_STATE_BATCHES: Final = 20
_STATE_GROWTH: Final = 1.5
_HEAP: Final = 0.85
_GC: Final = 0.1
_PARTITIONS_PER_CORE: Final = 8
_SKEW: Final = 5
_SKEWED_ROWS: Final = 10_000
_PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"


def _driver_memory(facts: StorageFacts) -> Outcome:
    known = [(each, each.memory) for each in facts.processes if each.memory is not None and each.memory.old_limit]
    if not known:
        return NotApplicable("No run works on this machine now, or its JVM publishes no counters.")
    faults, words = list[Fault](), list[str]()
    for process, memory in known:
        used, collecting = memory.old_used / memory.old_limit, memory.gc_seconds / max(memory.seconds, 1)
        text = (
            f"the old generation has {byte_size(memory.old_used)} of {byte_size(memory.old_limit)} ({used:.0%}), "
            f"and {collecting:.1%} of the time is garbage collection"
        )
        words.append(text)
        if used > _HEAP or collecting > _GC:
            numbers = {"heap_percent": round(100 * used), "gc_percent": round(100 * collecting, 1)}
            faults.append(Fault(Subject("process", f"{process.pid} ({process.name})"), text, numbers))
    return judged(faults, words[0])


def _state_shrinks(facts: StorageFacts) -> Outcome:
    flows = [
        (each, rows)
        for each in facts.history.flows
        if len(rows := [one.progress.state_rows for one in each.batches if one.progress.state_rows is not None])
        >= _STATE_BATCHES
    ]
    if not flows:
        return NotApplicable(f"No flow with state has had {_STATE_BATCHES} batches.")
    faults = []
    for flow, rows in flows:
        half = len(rows) // 2
        before, after = fmean(rows[:half]), fmean(rows[half:])
        removed = sum(one.removed_rows for each in flow.batches for one in each.progress.state_operators)
        if after > _STATE_GROWTH * max(before, 1) and not removed:
            bound = flow.definition.watermark
            although = "" if bound is None else f", although the watermark waits {bound[1]} only"
            batches = counted(len(rows), "batch")
            text = f"state grew from {rows[0]:,} to {rows[-1]:,} rows in {batches}, and none was removed{although}"
            commands = (f"penstock state {flow.definition.dataset}",)
            faults.append(
                Fault(
                    Subject("flow", flow.name),
                    text,
                    {"state_rows": rows[-1], "state_rows_before": rows[0]},
                    commands=commands,
                )
            )
    return judged(faults, f"{counted(len(flows), 'flow')} with state that removes rows or stays as large")


def _state_store(facts: StorageFacts) -> Outcome:
    flows = [each for each in facts.history.flows if each.batches and each.batches[-1].progress.state_bytes]
    if not flows:
        return NotApplicable("No flow keeps state.")
    faults = []
    for flow in flows:
        held = flow.batches[-1].progress.state_bytes or 0
        recorded = {} if flow.definition.checkpoint is None else flow.definition.checkpoint.settings
        provider = recorded.get(_PROVIDER, "")
        if provider.endswith("HDFSBackedStateStoreProvider") and held > _MEMORY_STATE:
            text = f"{byte_size(held)} of state is on the heap (HDFSBackedStateStoreProvider)"
            faults.append(Fault(Subject("flow", flow.name), text, {"state_bytes": held}))
    held = sum(each.batches[-1].progress.state_bytes or 0 for each in flows)
    return judged(
        faults, f"{counted(len(flows), 'flow')} whose state takes {byte_size(held)} of memory", state_bytes=held
    )


def _shuffle_partitions(facts: StorageFacts, settings: SettingsFacts) -> Outcome:
    if settings.cores is None:
        return NotApplicable("The number of cores of a cluster is not recorded.")
    known = {
        flow.name: partitions
        for flow in facts.history.flows
        if flow.definition.stateful and (partitions := facts.partitions_of(flow)) is not None
    }
    if not known:
        return NotApplicable("No checkpoint of a stateful flow has recorded its shuffle partitions.")
    faults = [
        Fault(
            Subject("flow", name),
            f"{partitions:,} shuffle partitions, so as many tasks a batch, on {counted(settings.cores, 'core')}",
            {"partitions": partitions, "cores": settings.cores},
            commands=(f"penstock checkpoint repartition {name}",),
        )
        for name, partitions in known.items()
        if partitions > _PARTITIONS_PER_CORE * settings.cores
    ]
    return judged(faults, f"at most {max(known.values())} partitions on {counted(settings.cores, 'core')}")


def _skew(facts: StorageFacts) -> Outcome:
    known = {
        (flow.name, topic): partitions
        for flow in facts.history.flows
        if flow.batches
        for topic, partitions in flow.batches[-1].progress.backlog_partitions.items()
        if len(partitions) > 1
    }
    if not known:
        return NotApplicable("No source reports its backlog by partition, and tasks are not recorded.")
    faults = []
    for (name, topic), partitions in known.items():
        largest, usual = max(partitions, key=partitions.__getitem__), median(partitions.values())
        rows = partitions[largest]
        if rows >= _SKEWED_ROWS and rows > _SKEW * max(usual, 1):
            text = f"partition {largest} of {topic} has {rows:,} rows waiting, the median partition {usual:,.0f}"
            faults.append(Fault(Subject("flow", name), text, {"largest": rows, "median": usual}))
    return judged(faults, f"{counted(len(known), 'topic')} whose partitions have about as much waiting")


CHECKS: Final[Mapping[str, Check]] = {
    "driver-memory": _driver_memory,
    "state-shrinks": _state_shrinks,
    "state-store": _state_store,
    "shuffle-partitions": of_settings(_shuffle_partitions),
    "skew": _skew,
}

"""How much memory the driver and the executors get."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from penstock.care.doctor.checks.outcome import counted
from penstock.care.tuning.advice import Advice, change, keep, not_applicable, too_little
from penstock.care.tuning.load import DAY, FlowLoad, PipelineLoad
from penstock.observe.numbers import byte_size, duration_ms
from penstock.storage.jvm_counters import JvmMemory

_DRIVER: Final = "spark.driver.memory"
_EXECUTOR: Final = "spark.executor.memory"
_OVERHEAD: Final = "spark.executor.memoryOverhead"
_SPARK_MEMORY: Final = "1g"

_MIB: Final = 1 << 20
_STEP: Final = 512 * _MIB
_LEAST: Final = 1024 * _MIB
_UNITS: Final = {"": _MIB, "k": 1 << 10, "m": _MIB, "g": 1 << 30, "t": 1 << 40}

_LONG_ENOUGH: Final = 600.0
_FULL: Final = 0.85
_COLLECTING: Final = 0.1
_WANTED: Final = 0.6
_OLD_GENERATION: Final = 2 / 3
_QUIET: Final = 0.02

_RESERVED: Final = 300 * _MIB
_VERSIONS: Final = 2
_MEMORY_FRACTION: Final = 0.6
_PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
_ON_HEAP: Final = "HDFSBackedStateStoreProvider"
_ROCKSDB: Final = "RocksDBStateStoreProvider"
_BOUNDED: Final = "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage"
_ROCKSDB_MIB: Final = "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB"
_MINIMUM: Final = "spark.executor.minMemoryOverhead"
_FACTOR: Final = "spark.executor.memoryOverheadFactor"
_LEAST_OVERHEAD: Final = 384 * _MIB


def driver_memory(load: PipelineLoad) -> Iterator[Advice]:
    """Advises on the driver's heap, by the counters of its JVM; with a local master the tasks run in it too."""
    now = load.conf(_DRIVER, _SPARK_MEMORY)
    known = [each.memory for each in load.facts.processes if each.memory is not None and each.memory.old_limit]
    heap = _bytes(now)
    if heap is None:
        yield too_little(_DRIVER, f"`{now}` is no size.", now=now)
    elif not known:
        reason = "No run works on this machine now: the heap is read from the counters of a running JVM."
        yield too_little(_DRIVER, reason, now=now)
    else:
        memory = max(known, key=lambda each: each.seconds)
        if memory.seconds < _LONG_ENOUGH:
            reason = f"The JVM has run for {duration_ms(1000 * memory.seconds)}, 10 minutes are needed."
            yield too_little(_DRIVER, reason, now=now)
        else:
            yield _of_heap(memory, heap, now)


def _of_heap(memory: JvmMemory, heap: int, now: str) -> Advice:
    used, collecting = memory.old_used / memory.old_limit, memory.gc_seconds / memory.seconds
    needed = _steps(memory.old_used / _WANTED / _OLD_GENERATION)
    evidence = (
        f"The old generation holds {byte_size(memory.old_used)} of {byte_size(memory.old_limit)} ({used:.0%}), and "
        f"{collecting:.1%} of {duration_ms(1000 * memory.seconds)} was garbage collection (1 reading)."
    )
    measured = {
        "old_generation_bytes": memory.old_used,
        "old_generation_limit_bytes": memory.old_limit,
        "gc_percent": round(100 * collecting, 1),
        "seconds": round(memory.seconds),
    }
    if used > _FULL or collecting > _COLLECTING:
        advised = max(needed, _steps(1.5 * heap))
        return change(_DRIVER, evidence, now, _size(advised), measured=measured)
    if 2 * needed <= heap and collecting < _QUIET and memory.seconds >= DAY:
        return change(_DRIVER, evidence, now, _size(needed), measured=measured)
    return keep(_DRIVER, evidence, now, measured=measured)


def executor_memory(load: PipelineLoad) -> Iterator[Advice]:
    """Advises on the heap of an executor, by the state that it holds; nothing else of its heap is recorded."""
    now = load.conf(_EXECUTOR, _SPARK_MEMORY)
    if load.settings.local:
        yield not_applicable(_EXECUTOR, load.no_executors)
        return
    heap, flows = _bytes(now), _with_state(load, _ON_HEAP)
    if not flows:
        reason = "No state is on the heap, and what tasks need of it is not recorded: see the Executors page of Spark."
        yield too_little(_EXECUTOR, reason, now=now)
    elif load.executors is None or heap is None:
        yield too_little(_EXECUTOR, load.cores_missing if heap else f"`{now}` is no size.", now=now)
    elif short := next((each for each in flows if not each.enough), None):
        yield too_little(_EXECUTOR, f"{short.name}: {short.missing}", now=now)
    else:
        state = sum(max(each.progress.state_bytes or 0 for each in flow.flow.batches) for flow in flows)
        share = 1 - min(load.number("spark.memory.fraction", _MEMORY_FRACTION), 0.95)
        needed = _steps(_RESERVED + _VERSIONS * state / load.executors / share)
        evidence = (
            f"{byte_size(state)} of state on the heaps of {counted(load.executors, 'executor')} "
            f"({flows[0].name}, {flows[0].basis}). What tasks need is not recorded."
        )
        measured = {"state_bytes": state, "executors": load.executors}
        enough = needed <= heap
        yield (
            keep(_EXECUTOR, evidence, now, measured=measured)
            if enough
            else change(_EXECUTOR, evidence, now, _size(needed), measured=measured)
        )


def memory_overhead(load: PipelineLoad) -> Iterator[Advice]:
    """Advises on the memory of an executor beside its heap, where RocksDB keeps state."""
    if load.settings.local:
        yield not_applicable(_OVERHEAD, load.no_executors)
        return
    if not load.settings.master.startswith(("yarn", "k8s")):
        yield not_applicable(
            _OVERHEAD, f"Only YARN and Kubernetes give containers a size (master {load.settings.master})."
        )
        return
    flows = _with_state(load, _ROCKSDB)
    given, heap = load.settings.conf.get(_OVERHEAD), _bytes(load.conf(_EXECUTOR, _SPARK_MEMORY))
    if not flows:
        yield not_applicable(_OVERHEAD, "No flow keeps state in RocksDB, and other native memory is not recorded.")
    elif load.conf(_BOUNDED, "false").casefold() != "true":
        yield too_little(_OVERHEAD, f"{_BOUNDED} is off: RocksDB takes what it finds.", now=given)
    elif heap is not None:
        bound = round(load.number(_ROCKSDB_MIB, 500))
        least = _bytes(load.conf(_MINIMUM, "")) or _LEAST_OVERHEAD
        needed = least + bound * _MIB
        now = _bytes(given) if given is not None else max(least, round(heap * load.number(_FACTOR, 0.1)))
        evidence = (
            f"{counted(len(flows), 'flow')} with state in RocksDB ({flows[0].basis}), which takes up to {bound} MiB."
        )
        measured = {"rocksdb_mib": bound, "flows": len(flows)}
        shown = given or f"{(now or 0) // _MIB}m"
        if now is not None and now >= needed:
            yield keep(_OVERHEAD, evidence, shown, measured=measured)
        else:
            yield change(_OVERHEAD, evidence, shown, f"{needed // _MIB}m", measured=measured)


def _with_state(load: PipelineLoad, provider: str) -> list[FlowLoad]:
    """The flows with state whose checkpoint has this provider, or the session's where it has none."""
    found = []
    for each in load.flows:
        checkpoint = each.flow.definition.checkpoint
        recorded = {} if checkpoint is None else checkpoint.settings
        used = recorded.get(_PROVIDER, load.conf(_PROVIDER, _ON_HEAP))
        if used.endswith(provider) and any(one.progress.state_bytes for one in each.flow.batches):
            found.append(each)
    return found


def _bytes(size: str) -> int | None:
    """Reads `2g`, `512m`, `1024` (MiB), as Spark reads a size of memory; None of another text."""
    found = re.fullmatch(r"(\d+)([kmgt]?)b?", size.strip().casefold())
    return None if found is None else int(found.group(1)) * _UNITS[found.group(2)]


def _steps(size: float) -> int:
    """Rounds up to the next 512 MiB, at least 1 GiB."""
    return max(-int(-size // _STEP) * _STEP, _LEAST)


def _size(size: int) -> str:
    return f"{size >> 30}g" if size % (1 << 30) == 0 else f"{size // _MIB}m"

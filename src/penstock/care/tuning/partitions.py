"""Into how many partitions a batch is divided: those of a shuffle, and those that Kafka's rows are read in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.care.doctor.checks.outcome import counted
from penstock.care.tuning.advice import Advice, change, keep, not_applicable, too_little
from penstock.care.tuning.load import ENOUGH, FlowLoad, PipelineLoad
from penstock.observe.numbers import short_count
from penstock.storage.checkpoint.source_offsets import is_topic_offset

SHUFFLE: Final = "spark.sql.shuffle.partitions"
_SPARK_PARTITIONS: Final = "200"
_MOST_PER_CORE: Final = 3
_ROWS: Final = 100_000
_STATE_ROWS: Final = 1_000_000

_MIN_PARTITIONS: Final = "minPartitions"
_WORTH_A_TASK: Final = 50_000


def shuffle_partitions(load: PipelineLoad) -> Iterator[Advice]:
    """Advises on the session's setting, and on the number that the checkpoint of each stateful flow has fixed.

    Spark's guide ("Miscellaneous Notes") says that a query with state keeps the number of its first run.
    """
    cores = load.cores
    if cores is None:
        yield too_little(SHUFFLE, load.cores_missing)
        return
    measured = [each for each in load.flows if each.enough]
    for each in load.flows:
        if each.flow.definition.stateful:
            yield _of_checkpoint(each, cores, load.facts.partitions_of(each.flow))
    if not measured:
        most = max((len(each.flow.with_rows) for each in load.flows), default=0)
        yield too_little(SHUFFLE, f"No flow had more than {counted(most, 'batch')} with rows, {ENOUGH} are needed.")
        return
    needed, largest = max(((_needed(each, cores), each) for each in measured), key=lambda pair: pair[0])
    now = load.conf(SHUFFLE, _SPARK_PARTITIONS)
    evidence = (
        f"{counted(cores, 'core')}; {_size(largest)} ({largest.name}, {largest.basis}). New checkpoints and shuffles "
        "without state take it."
    )
    yield _judged(now, needed, cores, evidence, _numbers(largest, cores))


def _of_checkpoint(load: FlowLoad, cores: int, partitions: int | None) -> Advice:
    now = None if partitions is None else str(partitions)
    if not load.enough:
        return too_little(SHUFFLE, load.missing, flow=load.name, now=now)
    if now is None:
        return too_little(SHUFFLE, "Its checkpoint does not have the number that it keeps.", flow=load.name)
    needed = _needed(load, cores)
    evidence = f"{counted(cores, 'core')}; {_size(load)} ({load.basis})."
    command = f"penstock checkpoint repartition {load.name} --partitions {needed}"
    return _judged(now, needed, cores, evidence, _numbers(load, cores), flow=load.name, command=command)


def _judged(
    now: str,
    needed: int,
    cores: int,
    evidence: str,
    measured: dict[str, int],
    *,
    flow: str | None = None,
    command: str | None = None,
) -> Advice:
    if now.isdecimal() and needed <= int(now) <= _MOST_PER_CORE * cores:
        return keep(SHUFFLE, evidence, now, flow=flow, measured=measured)
    commands = () if command is None else (command,)
    return change(SHUFFLE, evidence, now, str(needed), flow=flow, measured=measured, commands=commands)


def _needed(load: FlowLoad, cores: int) -> int:
    rows, state = load.rows, _state_rows(load)
    for each in range(1, _MOST_PER_CORE):
        if rows <= each * cores * _ROWS and state <= each * cores * _STATE_ROWS:
            return each * cores
    return _MOST_PER_CORE * cores


def _state_rows(load: FlowLoad) -> int:
    return max((each.progress.state_rows or 0 for each in load.flow.batches), default=0)


def _size(load: FlowLoad) -> str:
    state = _state_rows(load)
    kept = f" and {short_count(state)} rows of state" if state else ""
    return f"95 % of the batches have at most {short_count(load.rows)} rows{kept}"


def _numbers(load: FlowLoad, cores: int) -> dict[str, int]:
    return {"cores": cores, "batch_rows": load.rows, "state_rows": _state_rows(load)}


def min_partitions(load: PipelineLoad) -> Iterator[Advice]:
    """Advises on the tasks in which a batch of Kafka is read; by default one for each partition of the topics."""
    flows = [each for each in load.flows if "kafka" in each.formats]
    if not flows:
        yield not_applicable(_MIN_PARTITIONS, "No flow reads Kafka.")
    for each in flows:
        yield _of_topic(load, each)


def _of_topic(load: PipelineLoad, flow: FlowLoad) -> Advice:
    partitions = _topic_partitions(flow)
    now = limit_of(flow, _MIN_PARTITIONS)
    given = {"flow": flow.name, "now": now, "place": flow.flow.definition.location}
    if load.cores is None:
        return too_little(_MIN_PARTITIONS, load.cores_missing, **given)
    if not flow.enough:
        return too_little(_MIN_PARTITIONS, flow.missing, **given)
    if not partitions:
        return too_little(_MIN_PARTITIONS, "The log does not have the offsets of its checkpoint.", **given)
    rows = flow.rows // partitions
    evidence = (
        f"{counted(partitions, 'partition')} of topics on {counted(load.cores, 'core')}, {short_count(rows)} rows of "
        f"each in a batch ({flow.basis})."
    )
    measured = {"topic_partitions": partitions, "cores": load.cores, "rows_per_partition": rows}
    read_in = max(partitions, int(now)) if now is not None and now.isdecimal() else partitions
    if read_in >= load.cores or rows < _WORTH_A_TASK:
        return keep(_MIN_PARTITIONS, evidence, measured=measured, **given)
    return change(_MIN_PARTITIONS, evidence, advised=str(load.cores), measured=measured, **given)


def _topic_partitions(load: FlowLoad) -> int:
    """Returns how many partitions of topics its checkpoint has offsets of; 0 of a flow that does not read Kafka."""
    checkpoint = load.flow.definition.checkpoint
    offsets = [] if checkpoint is None else list(checkpoint.offsets.values())
    return sum(len(partitions) for each in offsets if is_topic_offset(each) for partitions in each.values())


def limit_of(load: FlowLoad, option: str) -> str | None:
    """Returns the value of an option of its reads, in any spelling; None where none is recorded."""
    for options in load.flow.definition.limits.values():
        for name, value in options.items():
            if name.casefold().removeprefix("cloudfiles.") == option.casefold():
                return value
    return None

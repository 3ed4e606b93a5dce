"""How much one batch may read: `maxOffsetsPerTrigger` of Kafka, `maxFilesPerTrigger` of files."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock.care.cost.batch_time import BatchTime
from penstock.care.tuning.advice import Advice, change, keep, not_applicable, too_little
from penstock.care.tuning.load import FlowLoad, PipelineLoad
from penstock.care.tuning.partitions import limit_of
from penstock.observe.numbers import duration_ms, rate, short_count

_OFFSETS: Final = "maxOffsetsPerTrigger"
_FILES: Final = "maxFilesPerTrigger"
_KAFKA: Final = "kafka"
_AUTO_LOADER: Final = "cloudfiles"
_FILE_SOURCES: Final = {_AUTO_LOADER, "json", "csv", "parquet", "text", "avro", "orc", "binaryfile", "xml"}
_AUTO_LOADER_FILES: Final = "1000"

_HEADROOM: Final = 1.2
_FACTOR: Final = 2.0
_LONG: Final = 2.0
_EXTRAPOLATED: Final = 10


@dataclass(frozen=True, slots=True)
class _Capacity:
    """The rows that fit into a batch of the target length, and what that was computed from."""

    rows: int
    limit: int
    """Those without what is extrapolated too far."""
    evidence: str
    measured: dict[str, float]
    outage_seconds: float
    """How long a batch with all rows of the longest outage takes."""


def max_offsets(load: PipelineLoad) -> Iterator[Advice]:
    """Advises on the limit of each flow that reads Kafka; `maxOffsetsPerTrigger` is for all its topics together."""
    flows = [each for each in load.flows if _KAFKA in each.formats]
    if not flows:
        yield not_applicable(_OFFSETS, "No flow reads Kafka.")
    for each in flows:
        yield _advice(_OFFSETS, load, each, limit_of(each, _OFFSETS), rows_each=1.0)


def max_files(load: PipelineLoad) -> Iterator[Advice]:
    """Advises on the limit of each flow that reads files, by the rows that a file had."""
    flows = [each for each in load.flows if each.formats & _FILE_SOURCES]
    if not flows:
        yield not_applicable(_FILES, "No flow reads files.")
    for each in flows:
        default = _AUTO_LOADER_FILES if _AUTO_LOADER in each.formats else None
        now = limit_of(each, _FILES) or default
        rows_each = _rows_per_file(each)
        if each.enough and each.sources == 1 and rows_each is None:
            reason = "How many files its newest batches read is not in its checkpoint."
            yield too_little(_FILES, reason, flow=each.name, now=now)
        else:
            yield _advice(_FILES, load, each, now, rows_each=rows_each or 1.0)


def _rows_per_file(load: FlowLoad) -> float | None:
    """The rows of a file, by the newest batches whose files are known: those with rows."""
    newest = min(len(load.files), len(load.flow.with_rows))
    if newest == 0:
        return None
    rows = sum(each.progress.num_input_rows for each in load.flow.with_rows[-newest:])
    return max(rows / sum(load.files[-newest:]), 1.0)


def _advice(setting: str, load: PipelineLoad, flow: FlowLoad, now: str | None, *, rows_each: float) -> Advice:
    given = {"flow": flow.name, "now": now, "place": flow.flow.definition.location}
    if not flow.enough:
        return too_little(setting, flow.missing, **given)
    if flow.sources > 1:
        return too_little(setting, f"It reads {flow.sources} sources, and rows are not recorded by source.", **given)
    found = _capacity(load, flow)
    if isinstance(found, str):
        return too_little(setting, found, **given)
    unit = "" if rows_each == 1 else f" A file has {short_count(rows_each)} rows."
    measured = {**found.measured, "rows_each": round(rows_each, 1)}
    arrivals = flow.busiest_hour()
    needed = 0.0 if arrivals is None else _HEADROOM * arrivals * load.target_seconds
    if found.rows < needed:
        reason = (
            f"{found.evidence} In the busiest hour rows arrive faster than that, at {rate(arrivals)}: no limit helps, "
            "see keeps-up in `penstock doctor`."
        )
        return not_applicable(setting, reason, measured=measured, **given)
    evidence = found.evidence + unit
    advised = _two_digits(max(found.limit, needed) / rows_each)
    if now is None and found.outage_seconds <= _LONG * load.target_seconds:
        text = duration_ms(1000 * found.outage_seconds)
        evidence += f" After the longest outage so far one batch takes {text}: no limit is needed."
        return keep(setting, evidence, measured=measured, **given)
    right = (
        now is not None
        and now.isdecimal()
        and max(advised / _FACTOR, needed / rows_each) <= int(now) <= advised * _FACTOR
    )
    if right:
        return keep(setting, evidence, measured=measured, **given)
    return change(setting, evidence, advised=str(advised), measured=measured, **given)


def _capacity(load: PipelineLoad, flow: FlowLoad) -> _Capacity | str:
    """Returns what fits into a batch; or what is missing, as a sentence."""
    time = flow.time
    if time is None:
        return "The log does not have the durations of its batches."
    if not time.per_row:
        return (
            f"The time of its {flow.basis} does not grow with their rows, of which 95 % have at most "
            f"{short_count(flow.rows)}: larger batches are needed."
        )
    if time.one_size:
        return (
            f"Its {flow.basis} had about as many rows, {short_count(flow.rows)}: how a batch grows with its rows is "
            "known from batches of different sizes."
        )
    target = load.target_seconds
    rows = max(int((target - time.fixed) / time.per_row), 0)
    evidence = (
        f"A batch takes {duration_ms(1000 * time.fixed)} and {_per_million(time)} for each million rows "
        f"({flow.basis}), so {short_count(rows)} rows fit into {target:g} s."
    )
    if rows > _EXTRAPOLATED * time.most_rows:
        evidence += f" The largest batch had {short_count(time.most_rows)}: {_EXTRAPOLATED} times as many at most."
    elif rows > time.most_rows:
        evidence += f" The largest batch had {short_count(time.most_rows)}: beyond it is extrapolated."
    mean, outage = flow.mean_arrivals(), load.facts.history.longest_outage(load.facts.now)
    waiting = 0.0 if mean is None or outage is None else mean * outage.total_seconds()
    measured = {
        "fixed_seconds": round(time.fixed, 3),
        "seconds_per_million_rows": round(1e6 * time.per_row, 2),
        "target_seconds": target,
        "fitting_rows": rows,
        "largest_batch_rows": time.most_rows,
    }
    most = min(rows, _EXTRAPOLATED * time.most_rows)
    return _Capacity(rows, most, evidence, measured, time.seconds(round(waiting)))


def _per_million(time: BatchTime) -> str:
    return duration_ms(1e9 * time.per_row)


def _two_digits(value: float) -> int:
    """Rounds down to two digits, at least 1."""
    if value < 100:
        return max(int(value), 1)
    scale = 10 ** (int(math.log10(value)) - 1)
    return int(value // scale * scale)

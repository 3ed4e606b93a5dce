"""From the name of a format to what writes it: what is wrong before a flow starts, what is promised, the writer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.graph.elements import AnySink, FormatSink, UnresolvedFlow
from penstock.graph.identifier import Identifier
from penstock.graph.rules.sinks import FILE_FORMATS
from penstock.graph.sinks.sink_group import GROUP, flow_refused, members, options_refused
from penstock.spark import _jvm
from penstock.spark.sinks.batch_writer import BatchWriter, FormatBatches, Member
from penstock.spark.sinks.sink import BatchSink, JudgesOptions, PromisesByOptions, Sink, SinkTarget
from penstock.spark.sinks.spark_sinks import DeltaSink, FileSink, SinkWriter, SparkSink
from penstock.spark.sources.auto_loader.options.names import READERS
from penstock.spark.sources.installed import installed
from penstock.spark.sources.option import problems, with_defaults
from penstock.spark.streams.writes import StreamWriter

_TO_SPARK: Final = SparkSink()

SINKS: Final[Mapping[str, Sink]] = {
    "console": _TO_SPARK,
    "delta": DeltaSink(),
    "memory": _TO_SPARK,
    "noop": _TO_SPARK,
    **dict.fromkeys(FILE_FORMATS, FileSink()),
}
"""Formats that no connector is looked for."""


def sink_of(kind: str) -> Sink:
    """Returns how a format, in lower case, is written; an unknown one is left to Spark, whose session may know it.

    Raises:
        ConfigError: CONNECTOR_UNUSABLE.
    """
    if kind in SINKS:
        return SINKS[kind]
    found = installed(kind)
    return _TO_SPARK if found is None or found.connector.sink is None else found.connector.sink


def code_of(kind: str) -> str | None:
    """Returns whose code the connector of a format is, to a person; None for Penstock's own."""
    found = None if kind in SINKS else installed(kind)
    return None if found is None else found.code


def check_sink(spark: SparkSession, sink: FormatSink, flows: Iterable[UnresolvedFlow]) -> Iterator[PenstockError]:
    """Yields what is wrong with a sink: its format, its options, and flows that it cannot take.

    The rules of the graph have judged Penstock's own formats already, but for what the driver of a database knows; they
    refuse `memory`.

    Raises:
        ConfigError: CONNECTOR_UNUSABLE.
    """
    found = None if sink.kind in {*SINKS, GROUP} else installed(sink.kind)
    if found is not None and found.connector.sink is not None:
        yield from _of_connector(spark, sink, found.connector.sink, flows)
    elif sink.kind not in {"memory", GROUP} and not _jvm.has_format(spark, READERS.get(sink.kind, sink.format)):
        yield sink.error("SINK_FORMAT_UNKNOWN", name=sink.identifier, format=sink.format)


def promise_of(sink: AnySink, sinks: Mapping[Identifier, AnySink]) -> str | None:
    """Returns what becomes of a row in a crash, in words; None where unknown. `sinks` are all of the pipeline."""
    if not isinstance(sink, FormatSink):
        return None
    if sink.kind == GROUP:
        promises = {each.name: promise_of(sinks[each], sinks) or "as its function does" for each in members(sink)}
        return ", ".join(f"{name} {promise}" for name, promise in promises.items())
    writes = sink_of(sink.kind)
    if isinstance(writes, PromisesByOptions):
        return writes.promise_of(sink)
    return None if writes.promise is None else writes.promise.value


def connector_writer(target: SinkTarget) -> StreamWriter:
    """Returns the writer of one start of a flow into a format.

    Raises:
        PenstockError: why the sink cannot take the rows.
    """
    opened = _opened(target)
    if isinstance(opened, BatchSink):
        return BatchWriter(opened, target.mode, code=code_of(target.declared.kind))
    return opened


def member_of_several(target: SinkTarget, select: str | None) -> Member:
    """Returns one of several sinks that a flow writes to, for one start of it; raises as `connector_writer`."""
    opened, name = _opened(target), target.declared.identifier.name
    if isinstance(opened, BatchSink):
        return Member(name, opened, select, code_of(target.declared.kind))
    if isinstance(opened, SinkWriter):
        return Member(name, FormatBatches(name, opened), select)
    reason = f"a {target.declared.kind} sink cannot be one of several, because its connector starts the query itself"
    raise options_refused(target.declared, reason, "Give it a flow of its own")


def _opened(target: SinkTarget) -> StreamWriter | BatchSink:
    sink = sink_of(target.declared.kind)
    if sink.options is not None:
        target = replace(target, options=with_defaults(sink.options, target.options))
    return sink.open(target)


def _of_connector(
    spark: SparkSession, sink: FormatSink, connector: Sink, flows: Iterable[UnresolvedFlow]
) -> Iterator[PenstockError]:
    if isinstance(connector, JudgesOptions):
        yield from connector.problems(spark, sink)
    found = () if connector.options is None else problems(connector.options, sink.options)
    for problem in found:
        if problem.kind == "unknown":
            way_out = problem.instead.removesuffix(".") or "Correct or remove it"
        else:
            way_out = problem.instead
        refused = problem.kind == "refused"
        reason = f"it does not take the option '{problem.option}': {problem.reason}" if refused else problem.reason
        yield options_refused(sink, reason, way_out)
    for flow in flows:
        if flow.updates and not connector.takes_updates:
            reason = f"is a {sink.kind} sink, to which rows can only be added"
            yield flow_refused(flow, reason, "Write to a streaming table, which merges them, or use append_flow")

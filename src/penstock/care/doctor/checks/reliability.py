"""Reliability: does a run survive a restart, a lost machine and an outage without losing or doubling rows?"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Mapping
from typing import Final

from penstock.care.doctor.checks.outcome import (
    NO_TABLE,
    NO_UPDATE,
    Check,
    Fault,
    NotApplicable,
    Outcome,
    Passed,
    counted,
    declared_at,
    judged,
    of_settings,
)
from penstock.care.doctor.facts import StorageFacts
from penstock.care.doctor.settings import SettingsFacts
from penstock.care.finding import SettingEdit, Subject
from penstock.graph.flows.flow_type import FlowType
from penstock.observe.numbers import duration_ms
from penstock.storage.local_disk import local_path

_TEMPORARY: Final = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - these are looked for
_AT_LEAST_ONCE: Final = {"kafka", "json", "csv", "parquet", "text", "orc", "avro", "console", "memory", "foreach"}
_RECENT: Final = 20


def _storage_durable(facts: StorageFacts) -> Outcome:
    if not facts.is_local:
        return Passed(f"checkpoints and tables are on {facts.storage}")
    place = os.path.realpath(local_path(facts.storage))
    folders = {os.path.realpath(each) for each in (*_TEMPORARY, tempfile.gettempdir())}
    if any(place.startswith(f"{folder}/") for folder in folders):
        evidence = f"checkpoints and tables are in {place}, a temporary folder"
        return [Fault(Subject("setting", "storage"), evidence)]
    return Passed(f"checkpoints and tables are on the disk of this machine, in {place}")


def _storage_shared(facts: StorageFacts, settings: SettingsFacts) -> Outcome:
    if settings.local:
        return NotApplicable(f"Driver and tasks run in one process (master {settings.master}).")
    if not facts.is_local:
        return Passed(f"{facts.storage} is reached by all machines of {settings.master}")
    evidence = f"storage {facts.storage} is on a local disk, and the master is {settings.master}"
    return [Fault(Subject("setting", "storage"), evidence)]


def _checkpoint_beside_table(facts: StorageFacts) -> Outcome:
    if not facts.tables:
        return NO_TABLE
    own = _disk(facts.storage)
    faults = [
        Fault(
            Subject("table", str(table.identifier)), f"the table is at {table.uri}, its checkpoints in {facts.storage}"
        )
        for table in facts.tables
        if _disk(table.uri) != own
    ]
    return judged(faults, f"{counted(len(facts.tables), 'table')} on the disk or store of the checkpoints")


def _disk(uri: str) -> object:
    scheme, separator, rest = uri.partition("://")
    if separator and scheme != "file":
        return scheme, rest.partition("/")[0]
    try:
        return os.stat(local_path(uri)).st_dev
    except OSError:
        return None


def _checkpoint_own(facts: StorageFacts) -> Outcome:
    known = [flow for flow in facts.history.flows if flow.definition.checkpoint is not None]
    if not known:
        return NotApplicable("No streaming flow has run yet.")
    queries = Counter(flow.definition.checkpoint.query_id for flow in known if flow.definition.checkpoint)
    faults = [
        Fault(Subject("flow", flow.name), f"its checkpoint has the query id {query}, as {count - 1} more")
        for flow in known
        if flow.definition.checkpoint and (count := queries[query := flow.definition.checkpoint.query_id]) > 1
    ]
    return judged(faults, f"{counted(len(known), 'flow')}, as many query ids")


def _watermark_set(facts: StorageFacts) -> Outcome:
    stateful = [flow for flow in facts.history.flows if flow.definition.stateful]
    if not stateful:
        return NotApplicable("No flow keeps state.")
    faults = []
    for flow in stateful:
        if flow.definition.watermark is None and flow.definition.flow_type != FlowType.COMPLETE.value:
            rows = flow.batches[-1].progress.state_rows if flow.batches else None
            kept = "" if rows is None else f", {rows:,} rows of state"
            place = declared_at(flow.definition.location, "flow", flow.name)
            evidence = f"{flow.name} keeps state ({', '.join(flow.definition.stateful)}) without a watermark{kept}"
            faults.append(Fault(place, evidence, {} if rows is None else {"state_rows": rows}))
    return judged(faults, f"{counted(len(stateful), 'stateful flow')} with a watermark or in complete mode")


def _watermark_advances(facts: StorageFacts) -> Outcome:
    watched = [each for each in facts.datasets if each.watermark is not None]
    if not watched:
        return NotApplicable("No flow has a watermark yet.")
    faults = [
        Fault(
            Subject("table", each.name),
            str(each.watermark_warning.get("message")),
            commands=(f"penstock watermark {each.name}",),
            since=each.watermark_warning_since,
        )
        for each in watched
        if each.watermark_warning is not None
    ]
    return judged(faults, f"{counted(len(watched), 'watermark')}, none of them stalled")


def _sinks_exactly_once(facts: StorageFacts) -> Outcome:
    if not facts.history.updates:
        return NO_UPDATE
    faults = [
        Fault(
            declared_at(sink.location, "sink", sink.name),
            f"{sink.name} writes {sink.format}, which a repeated batch writes a second time",
        )
        for sink in facts.history.sinks
        if sink.format.casefold() in _AT_LEAST_ONCE
    ]
    return judged(faults, f"all tables are Delta tables, {counted(len(facts.history.sinks), 'other sink')}")


def _trigger_set(_facts: StorageFacts, settings: SettingsFacts) -> Outcome:
    if not settings.once:
        return Passed(f"trigger {settings.trigger}")
    edit = SettingEdit(("trigger",), "available_now")
    return [Fault(Subject("setting", "trigger"), "trigger once takes everything as one batch", edit=edit)]


def _retention_covers_outage(facts: StorageFacts) -> Outcome:
    outage = facts.history.longest_outage(facts.now)
    if outage is None:
        return NO_UPDATE
    read = {name.casefold() for flow in facts.history.flows for name in flow.definition.inputs}
    tables = [each for each in facts.table_facts if each.error is None and each.name.casefold() in read]
    if not tables:
        return NotApplicable("No flow reads a table of the pipeline.")
    seconds = outage.total_seconds()
    faults = [
        Fault(
            Subject("table", each.name),
            f"flows read it, its files are kept for {duration_ms(1000 * kept)}, and the pipeline once stood still for "
            f"{duration_ms(1000 * seconds)}",
            {"retention_seconds": round(kept), "outage_seconds": round(seconds)},
        )
        for each in tables
        if (kept := min(each.file_retention, each.log_retention)) < seconds
    ]
    shortest = min(min(each.file_retention, each.log_retention) for each in tables)
    passed = f"the longest time without a run was {duration_ms(1000 * seconds)}, the shortest retention "
    return judged(faults, passed + duration_ms(1000 * shortest), outage_seconds=round(seconds))


def _updates_succeed(facts: StorageFacts) -> Outcome:
    ended = [each for each in facts.history.updates if each.state.terminal][:_RECENT]
    if not ended:
        return NotApplicable("No update has ended yet.")
    failed = [each for each in ended if each.state.value == "FAILED"]
    share = f"{len(failed)} of the newest {counted(len(ended), 'update')} failed"
    if ended[0] in failed:
        reason = str((ended[0].error or {}).get("condition") or "see its flows")
        evidence = f"the newest update failed ({reason}); {share}"
        commands = ("penstock status", "penstock events --level ERROR")
        return [Fault(Subject("update", ended[0].id), evidence, {"failed": len(failed)}, commands=commands)]
    return Passed(share, {"failed": len(failed), "updates": len(ended)})


def _readers_can_read(facts: StorageFacts) -> Outcome:
    tables = [each for each in facts.table_facts if each.error is None]
    if not tables:
        return NO_TABLE
    faults = [
        Fault(Subject("table", each.name), f"readers need {', '.join(each.reader_features)}")
        for each in tables
        if each.reader_features
    ]
    return judged(faults, f"{counted(len(tables), 'table')} that delta-rs reads")


CHECKS: Final[Mapping[str, Check]] = {
    "storage-durable": _storage_durable,
    "storage-shared": of_settings(_storage_shared),
    "checkpoint-beside-table": _checkpoint_beside_table,
    "checkpoint-own": _checkpoint_own,
    "watermark-set": _watermark_set,
    "watermark-advances": _watermark_advances,
    "sinks-exactly-once": _sinks_exactly_once,
    "trigger-set": of_settings(_trigger_set),
    "retention-covers-outage": _retention_covers_outage,
    "updates-succeed": _updates_succeed,
    "readers-can-read": _readers_can_read,
}

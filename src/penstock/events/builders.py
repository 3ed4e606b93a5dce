"""What each event type says: one function per type, giving `(message, details)` for `EventLog.append`.

    log.append(EventType.FLOW_PROGRESS, *flow_batch("silver_orders", progress), dataset="shop.silver_orders", …)

`name` parameters are what a person calls the thing: they start the message. Names inside `details`
are full (`schema.name`), because projections join on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal

from penstock.errors.text import clean, plural
from penstock.events.codec import fields_to_json
from penstock.events.flows.accounting import BatchAccounts, Verdict
from penstock.events.flows.column_lineage import lineage_to_json
from penstock.events.flows.late_rows import LateRows
from penstock.events.flows.watermark import WatermarkState, WatermarkStatus
from penstock.events.log.audit import user_action as user_action  # noqa: PLC0414 - it is one of the builders
from penstock.events.redaction import shown_option
from penstock.events.types import BatchProgress, CheckpointedBatch, FlowStatus, MaintenanceProgress, UpdateState
from penstock.graph.companions.late_rows import SUFFIX
from penstock.graph.elements import DatasetType
from penstock.graph.schema.column_lineage import ColumnLineage

Built = tuple[str, dict[str, Any]]

_NAME_LIMIT = 120
_REASON_LIMIT = 500


def create_update(
    *,
    pipeline: str,
    cause: str,
    version: str,
    full_refresh: Sequence[str] | Literal["all"] = (),
    refresh: Sequence[str] = (),
    continuous: bool = False,
) -> Built:
    """An update begins. `cause` is a word such as USER_ACTION, RETRY or SCHEDULE.

    `full_refresh` and `refresh` hold full dataset names; an empty `refresh` means all datasets.
    `version` is Penstock's.
    """
    message = f"{_name(pipeline)}: update started"
    if full_refresh == "all":
        message += ", full refresh of all tables"
    elif full_refresh:
        message += f", full refresh of {_list(full_refresh)}"
    if refresh:
        message += f", refresh of {_list(refresh)} only"
    return message, {
        "create_update": {
            "cause": cause,
            "full_refresh": full_refresh if full_refresh == "all" else list(full_refresh),
            "refresh": list(refresh),
            "continuous": continuous,
            "version": version,
        }
    }


def update_progress(state: UpdateState, *, pipeline: str, reason: str | None = None) -> Built:
    """An update enters a state; `reason` says why it failed or was stopped, in one line."""
    return _with_reason(f"{_name(pipeline)} is {state.value}", reason), {"update_progress": {"state": state.value}}


def dataset_definition(
    dataset: str,
    *,
    dataset_type: DatasetType,
    schema: Iterable[tuple[str, str, str | None]] = (),
    comment: str | None = None,
    path: str | None = None,
    inputs: Sequence[str] = (),
    expectations: Iterable[tuple[str, str, str]] = (),
    location: str | None = None,
) -> Built:
    """A dataset as this update sees it.

    Args:
        dataset: full name, `schema.name`.
        dataset_type: what it is.
        schema: (name, Spark simple type, comment) per column.
        comment: the user's description.
        path: URI of the stored table; None for a view.
        inputs: full names of the pipeline's datasets that it reads.
        expectations: (name, constraint as text, action) with action one of warn, drop, fail, quarantine.
        location: `file:line` of the declaration.
    """
    kind = dataset_type.replace("_", " ").lower()
    reads = f" reads {_list(inputs)}" if inputs else ""
    return f"{_name(dataset)}: {kind}{reads}", {
        "dataset_definition": {
            "dataset": dataset,
            "dataset_type": dataset_type,
            "schema": [{"name": name, "type": type_, "comment": note} for name, type_, note in schema],
            "comment": comment,
            "path": path,
            "inputs": list(inputs),
            "expectations": [
                {"name": name, "constraint": constraint, "action": action} for name, constraint, action in expectations
            ],
            "location": location,
        }
    }


def sink_definition(
    sink: str,
    *,
    sink_format: str,
    options: Mapping[str, str],
    inputs: Sequence[str] = (),
    location: str | None = None,
) -> Built:
    """A sink as this update sees it.

    Args:
        sink: full name, `schema.name`.
        sink_format: the format's name, `foreach_batch` for a function of the user's.
        options: what the user gave; values are written only of options that say where the rows go.
        inputs: full names of the pipeline's datasets whose rows go to it.
        location: `file:line` of the declaration.
    """
    reads = f" takes {_list(inputs)}" if inputs else ""
    return f"{_name(sink)}: {_name(sink_format)} sink{reads}", {
        "sink_definition": {
            "dataset": sink,
            "dataset_type": "SINK",
            "format": sink_format,
            "options": {name: shown_option(name, value) for name, value in options.items()},
            "inputs": list(inputs),
            "location": location,
        }
    }


def flow_definition(
    flow: str,
    *,
    output_dataset: str,
    flow_type: str,
    input_datasets: Sequence[str] = (),
    schema: Iterable[tuple[str, str, str | None]] = (),
    explain_text: str = "",
    sources: Iterable[tuple[str, str, str | None]] = (),
    stateful: Sequence[str] = (),
    watermark: tuple[str, str] | None = None,
    once: bool = False,
    comment: str | None = None,
    location: str | None = None,
    lineage: ColumnLineage | None = None,
    limits: Mapping[str, Mapping[str, str]] | None = None,
) -> Built:
    """A flow as this update sees it.

    Args:
        flow: its declared name.
        output_dataset: full name of the dataset that it fills.
        flow_type: a value of `penstock.graph.flows.flow_type.FlowType`; `complete` and `materialized_view`
            flows replace their target's rows with each batch, all others add.
        input_datasets: full names of the pipeline's datasets that it reads.
        schema: (name, Spark simple type, comment) per column of the query.
        explain_text: the query plan, for people.
        sources: (format, description, name in the checkpoint) per source outside the pipeline.
        stateful: the names of the stateful operators, outermost first.
        watermark: event-time column and delay.
        once: whether it runs one time only.
        comment: the user's description.
        location: `file:line` of the declaration.
        lineage: what its columns are made of; None when it was not analysed.
        limits: by source, the options that bound its batches.
    """
    external = list(sources)
    read = [*input_datasets, *(f"{kind} {description}".strip() for kind, description, _ in external)]
    reads = f" from {_list(read)}" if read else ""
    return f"{_name(flow)}: {clean(flow_type).lower().replace('_', ' ')} flow into {_name(output_dataset)}{reads}", {
        "flow_definition": {
            "output_dataset": output_dataset,
            "input_datasets": list(input_datasets),
            "flow_type": flow_type,
            "schema": [{"name": name, "type": type_, "comment": note} for name, type_, note in schema],
            "explain_text": explain_text,
            "sources": [
                {"format": kind, "description": description, "name": name} for kind, description, name in external
            ],
            "stateful": list(stateful),
            "watermark": None if watermark is None else {"column": watermark[0], "delay": watermark[1]},
            "once": once,
            "comment": comment,
            "location": location,
            "column_lineage": None if lineage is None else lineage_to_json(lineage),
            **({"limits": limits} if limits else {}),
        }
    }


def planning_information(stages: Sequence[tuple[str, str | None, str | None, str]]) -> Built:
    """What the update is going to do: (stage, dataset, flow, explanation) in the order of execution."""
    return f"planned {plural(len(stages), 'stage')}", {
        "planning_information": {
            "stages": [
                {"stage": stage, "dataset": dataset, "flow": flow, "explanation": explanation}
                for stage, dataset, flow, explanation in stages
            ]
        }
    }


def planning_warning(warning: str, *, name: str | None = None) -> Built:
    """Something that does not stop the run; append it with Level.WARN and the error."""
    message = clean(warning, limit=_REASON_LIMIT)
    return f"{_name(name)}: {message}" if name else message, {"planning_information": {"stages": []}}


def flow_status(
    name: str, status: FlowStatus, *, reason: str | None = None, lateness_not_measured: str | None = None
) -> Built:
    """A flow enters a state. `reason`: why it failed, is skipped or started again; of one that is idle, when it runs.

    `lateness_not_measured`: why it is not counted how late its rows come.
    """
    extra = {} if lateness_not_measured is None else {"lateness_not_measured": lateness_not_measured}
    return _with_reason(f"{_name(name)} is {status.value}", reason), {
        "flow_progress": {"status": status.value, **extra}
    }


def flow_retry(name: str, *, pause: float, at: datetime, reason: str) -> Built:
    """A flow failed because of `reason`, and is tried again after `pause` seconds, which is `at`."""
    message = _with_reason(f"{_name(name)} failed and is tried again in {pause:.1f} s", reason)
    return message, {"flow_progress": {"status": FlowStatus.RETRYING.value, "retry_at": at}}


_IF_ANY = frozenset(
    # Numbers of changes are recorded only of flows that apply changes, as in the DLT event log.
    {"num_upserted_rows", "num_deleted_rows", "state_operators", "backlog_partitions", "event_time_max", "lateness"}
)


def flow_batch(
    name: str,
    progress: BatchProgress,
    *,
    status: FlowStatus = FlowStatus.RUNNING,
    checkpointed: CheckpointedBatch | None = None,
) -> Built:
    """A batch is committed: its numbers, and what its checkpoint says, if any. The event's level is METRICS."""
    message = f"{_name(name)}: batch {progress.batch_id} wrote {plural(progress.num_output_rows, 'row')}"
    if progress.num_upserted_rows is not None:
        message = f"{_name(name)}: batch {progress.batch_id} upserted {plural(progress.num_upserted_rows, 'row')}"
        message += f" and deleted {progress.num_deleted_rows or 0:,}"
    if progress.batch_duration_ms is not None:
        message += f" in {_duration(progress.batch_duration_ms)}"
    if progress.dropped_records:
        message += f", {progress.dropped_records:,} dropped"
    if progress.quarantined_records > 0:
        message += f", {progress.quarantined_records:,} quarantined"
    if progress.late_rows:
        message += f", {progress.late_rows:,} late"
    warnings = sum(count.failed_records for count in progress.expectations if count.action == "warn")
    if warnings:
        message += f", {plural(warnings, 'warning')}"
    metrics = fields_to_json(progress)
    expectations = metrics.pop("expectations")
    recorded = {name: value for name, value in metrics.items() if name not in _IF_ANY or value not in (None, [], {})}
    return message, {
        "flow_progress": {
            "status": status.value,
            "metrics": recorded,
            "data_quality": {
                "dropped_records": progress.dropped_records,
                "quarantined_records": progress.quarantined_records,
                "expectations": expectations,
            },
            **({} if checkpointed is None else {"checkpoint": _checkpoint(checkpointed)}),
        }
    }


def _checkpoint(batch: CheckpointedBatch) -> dict[str, Any]:
    document = fields_to_json(batch)
    if not batch.settings:
        del document["settings"]
    return document


def accounting(name: str, accounts: BatchAccounts) -> Built:
    """The accounts of a committed batch. The event's level is METRICS, or ERROR with the error when they are broken."""
    batch = f"{_name(name)}: batch {accounts.batch_id}"
    match accounts.verdict:
        case Verdict.BROKEN:
            message = f"{batch} does not add up: {accounts.broken_equation}"
        case Verdict.BALANCED:
            message = (
                f"{batch} adds up: {plural(accounts.evaluated or 0, 'row')} evaluated, {accounts.written:,} written"
            )
        case Verdict.NOT_CHECKABLE:
            message = f"{batch} cannot be checked: {accounts.target_unchecked or 'a number is not known'}"
    return message, {"accounting": accounts.to_json()}


def late_rows(name: str, late: LateRows) -> Built:
    """What became of a batch's rows behind the watermark; append it with Level.WARN when there were any."""
    batch = f"{_name(name)}: batch {late.batch_id}"
    if late.kept is None:
        counted = "late rows" if late.counted is None else f"{plural(late.counted, 'late row')} by Spark's count"
        message = _with_reason(f"{batch} dropped {counted}, which could not be kept", late.reason)
    elif late.kept:
        dropped = f"{batch} dropped {plural(late.kept, 'late row')}, kept in {late.table}"
        message = f"{_with_reason(dropped, late.reason)}: penstock late show {late.table.removesuffix(SUFFIX)}"
    else:
        message = _with_reason(f"{batch} dropped no late rows", late.reason)
    return message, {"late_rows": late.to_json()}


def watermark(name: str, status: WatermarkStatus) -> Built:
    """A flow's watermark is stalled or in the future, which goes with Level.WARN and an error; or moves again."""
    words = {
        WatermarkState.MOVING: "moves again",
        WatermarkState.AHEAD: "is ahead of the clock, so that rows of now are late",
        WatermarkState.STALLED: "does not advance: all rows that arrive are older than earlier rows",
        WatermarkState.HELD_BACK: "does not advance, although event times do",
    }[status.state]
    return f"{_name(name)}: the watermark {words}, at {status.watermark}", {"watermark": fields_to_json(status)}


def maintenance(name: str, done: MaintenanceProgress) -> Built:
    """A table was maintained, or could not be: then append it with Level.WARN and the error."""
    words = []
    if done.files_removed:
        words.append(f"{plural(done.files_removed, 'file')} became {done.files_added:,}")
    if done.files_deleted:
        words.append(f"{plural(done.files_deleted, 'file')} that no version needs deleted")
    if done.pruned:
        words.append(f"{plural(len(done.pruned), 'former checkpoint')} removed")
    message = f"{_name(name)}: {', '.join(words) or 'nothing to put together or to delete'}"
    return _with_reason(message, done.kept_because), {"maintenance_progress": asdict(done)}


def table_registration(
    name: str,
    *,
    catalog: str,
    registered_as: str | None,
    action: Literal["CREATED", "UPDATED", "DEACTIVATED", "REMOVED", "FAILED"],
    differences: Sequence[str] = (),
    reason: str | None = None,
) -> Built:
    """The entry of a table in a catalog was changed, or could not be: then append it with Level.WARN and the error.

    Args:
        name: full name of the dataset; empty when the catalog as a whole failed.
        catalog: its name in the pipeline file.
        registered_as: the table's name in the catalog.
        action: what was done.
        differences: what the catalog said otherwise before, in words.
        reason: why it failed.
    """
    words = {"CREATED": "registered", "UPDATED": "corrected", "DEACTIVATED": "marked as inactive"}
    words |= {"REMOVED": "removed", "FAILED": "not registered"}
    subject = f"{_name(name)}: " if name else ""
    message = f"{subject}{words[action]} in catalog {_name(catalog)}"
    details = {"dataset": name or None, "catalog": catalog, "registered_as": registered_as, "action": action}
    return _with_reason(message, reason or "; ".join(differences)), {
        "table_registration": {**details, "differences": list(differences)}
    }


def hook_progress(hook: str, status: Literal["FAILED", "DISABLED", "DROPPED"], *, reason: str) -> Built:
    """An event hook of the user's failed on an event, was disabled, or missed events."""
    words = {"FAILED": "failed", "DISABLED": "is disabled for this update", "DROPPED": "missed events"}[status]
    return _with_reason(f"event hook {_name(hook)} {words}", reason), {
        "hook_progress": {"hook_name": hook, "status": status}
    }


def _name(text: str) -> str:
    return clean(text, limit=_NAME_LIMIT)


def _with_reason(words: str, reason: str | None) -> str:
    return f"{words}: {clean(reason, limit=_REASON_LIMIT)}" if reason else words


def _list(names: Sequence[str]) -> str:
    shown = [_name(name) for name in names[:3]]
    if len(names) > 3:
        shown.append(f"{len(names) - 3} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _duration(milliseconds: int) -> str:
    return f"{milliseconds} ms" if milliseconds < 100 else f"{milliseconds / 1000:,.1f} s"

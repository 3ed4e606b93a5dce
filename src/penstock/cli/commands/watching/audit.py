"""`penstock audit`: who did what to the pipeline, who saw its rows, and whether that record is as it was written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.options import AsJson
from penstock.cli.project import Project, project_command
from penstock.cli.screen.console import note, plural, print_json, print_table, say
from penstock.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.events.log.audit import RecordedAction


class Kind(Enum):
    """What to list: what changes the pipeline, or what shows rows."""

    ACTIONS = "actions"
    READS = "reads"


@project_command(scripts=True)
def audit(
    *,
    config: Project,
    only: Annotated[Kind | None, typer.Option("--only", help="List only actions, or only reads.")] = None,
    user: Annotated[str | None, typer.Option("--user", metavar="NAME", help="List only those of this account.")] = None,
    table: Annotated[
        str | None, typer.Option("--table", metavar="TABLE", help="List only those of this table.")
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            "--since",
            metavar="TIME",
            formats=["%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d"],
            help="List only those from this time on; UTC unless it says otherwise.",
        ),
    ] = None,
    expect: Annotated[
        list[str] | None,
        typer.Option(
            "--expect",
            metavar="HASH",
            help="The record must hold this hash of an earlier 'penstock audit'; may be given several times.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List who did what and who read which rows, when and from where; exit code 3 when that record was changed.

    Each entry has the hash of the one before it, so that one that is changed, taken out or put in is noticed. Keep
    the hashes that are printed elsewhere, and give them with --expect: then it is also noticed when the newest are
    gone. The whole record is checked, whatever is listed.
    """
    from penstock.events.log.audit import recorded_actions
    from penstock.events.log.reads import recorded_reads, sealing

    reads = list(recorded_reads(config.storage))
    actions = sealing(list(recorded_actions(config.storage)), reads)
    wrong = [*(_words(each, "action") for each in actions if each.tampering is not None)]
    wrong += [_words(each, "read") for each in reads if each.tampering is not None]
    known = {each.hash for each in (*actions, *reads)}
    wrong += [
        f"no action or read has the hash {each}: the newest ones were taken out, or all of them replaced"
        for each in expect or ()
        if each.strip().lower() not in known
    ]
    broken = StateError("AUDIT_CHAIN_BROKEN", storage=config.storage, wrong="; ".join(wrong)) if wrong else None
    hashes = _newest(actions), _newest(reads)
    wanted = _wanted(user, table, since)
    listed = [each for each in actions if only is not Kind.READS and wanted(each)]
    listed_reads = [each for each in reads if only is not Kind.ACTIONS and wanted(each)]
    if as_json:
        print_json(
            {
                "actions": [_document(each) for each in listed],
                "reads": [_document(each) for each in listed_reads],
                "hash": hashes[0],
                "hash_of_reads": hashes[1],
                "errors": [] if broken is None else [broken.to_json()],
            }
        )
    elif listed or listed_reads:
        headings = ("when", "who", "where", "what", "of", "")
        rows = [_row(each) for each in sorted((*listed, *listed_reads), key=_moment)]
        print_table([(heading, False) for heading in headings], rows)
    if broken is not None:
        from penstock.errors import render

        note(render(broken))
        raise typer.Exit(broken.exit_code)
    if not as_json:
        say(_summary(len(actions), len(reads), *hashes))


def _summary(actions: int, reads: int, of_actions: str | None, of_reads: str | None) -> str:
    if of_reads is None:
        return (
            f"{plural(actions, 'action')}, none changed. Hash of the newest: {of_actions}"
            if of_actions
            else "No action yet."
        )
    counts = f"{plural(actions, 'action')} and {plural(reads, 'read')}, none changed. Hash of the newest"
    return f"{counts} action: {of_actions}, read: {of_reads}" if of_actions else f"{counts} read: {of_reads}"


def _wanted(user: str | None, table: str | None, since: datetime | None) -> Callable[[RecordedAction], bool]:
    """Returns which entries to list; one that cannot be read is always listed."""
    if since is not None and since.tzinfo is None:
        since = since.replace(tzinfo=UTC)

    def wanted(entry: RecordedAction) -> bool:
        if entry.event is None:
            return True
        details, name = _details(entry), (table or "").casefold()
        tables = [each.casefold() for each in _tables(entry)]
        return (
            (user is None or str(details.get("user_name") or "").partition(" ")[0] == user)
            and (table is None or any(each == name or each.endswith(f".{name}") for each in tables))
            and (since is None or entry.event.timestamp >= since)
        )

    return wanted


def _newest(entries: Sequence[RecordedAction]) -> str | None:
    return next((each.hash for each in reversed(entries) if each.hash is not None), None)


def _moment(entry: RecordedAction) -> datetime:
    return datetime.min.replace(tzinfo=UTC) if entry.event is None else entry.event.timestamp


def _document(entry: RecordedAction) -> dict[str, Any]:
    from penstock.events.codec import format_timestamp

    event, details = entry.event, _details(entry)
    return {
        "sequence": None if event is None else event.sequence,
        "timestamp": None if event is None else format_timestamp(event.timestamp),
        "host": None if event is None else event.origin.host,
        **{key: details.get(key) for key in ("user_name", "through", "from", "action", "arguments")},
        "hash": entry.hash,
        "wrong": None if entry.tampering is None else entry.tampering.value,
    }


def _row(entry: RecordedAction) -> tuple[str, ...]:
    details, event = _details(entry), entry.event
    where = " ".join(str(each) for each in (details.get("through"), details.get("from")) if each)
    return (
        "" if event is None else event.timestamp.astimezone().strftime("%Y-%m-%d %H:%M:%S"),
        str(details.get("user_name") or "?"),
        f"{'' if event is None else event.origin.host}, {where}" if where else "",
        _what(details),
        ", ".join(_tables(entry)),
        "" if entry.tampering is None else entry.tampering.value,
    )


def _what(details: dict[str, Any]) -> str:
    from penstock.events.log.reads import READ

    action, arguments = str(details.get("action") or "?"), details.get("arguments") or {}
    if action != READ:
        return action.lower().replace("_", " ")
    words = (arguments.get("command"), arguments.get("statement") or arguments.get("filter"))
    return f"read {plural(arguments.get('rows') or 0, 'row')}: {' '.join(str(each) for each in words if each)}"


def _tables(entry: RecordedAction) -> list[str]:
    if entry.event is None:
        return []
    name = entry.event.origin.dataset_name
    return [name] if name else [str(each) for each in (_details(entry).get("arguments") or {}).get("tables") or ()]


def _details(entry: RecordedAction) -> dict[str, Any]:
    from penstock.events.flows.facts import details_of

    return {} if entry.event is None else dict(details_of(entry.event))


def _words(entry: RecordedAction, noun: str) -> str:
    number = f"an {noun}" if noun == "action" else f"a {noun}"
    if entry.event is not None:
        number = f"the {noun} with sequence {entry.event.sequence}"
    return f"{number} {'' if entry.tampering is None else entry.tampering.value}"

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
    from collections.abc import Mapping, Sequence

    from penstock.events.log.audit import RecordedAction


class Kind(Enum):
    """What to list: what changes the pipeline, what shows rows, or who was granted what."""

    ACTIONS = "actions"
    READS = "reads"
    GRANTS = "grants"


@project_command(scripts=True)
def audit(
    *,
    config: Project,
    only: Annotated[Kind | None, typer.Option("--only", help="List only actions, reads, or grants.")] = None,
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
    from penstock.access.store import recorded_grants
    from penstock.events.log.audit import recorded_actions
    from penstock.events.log.reads import recorded_reads, sealing
    from penstock.graph.identifier import recorded_name

    reads = list(recorded_reads(config.storage))
    actions = sealing(list(recorded_actions(config.storage)), reads)
    record = {Kind.ACTIONS: actions, Kind.READS: reads, Kind.GRANTS: list(recorded_grants(config.storage))}
    wrong = [
        _words(each, _noun(kind)) for kind, entries in record.items() for each in entries if each.tampering is not None
    ]
    known = {each.hash for entries in record.values() for each in entries}
    wrong += [
        f"no action, read or grant has the hash {each}: the newest ones were taken out, or all of them replaced"
        for each in expect or ()
        if each.strip().lower() not in known
    ]
    broken = StateError("AUDIT_CHAIN_BROKEN", storage=config.storage, wrong="; ".join(wrong)) if wrong else None
    hashes = {kind: _newest(entries) for kind, entries in record.items()}
    wanted = _wanted(user, table and recorded_name(table, config.catalog), since)
    listed = {
        kind: [each for each in entries if only in {None, kind} and wanted(each)] for kind, entries in record.items()
    }
    if as_json:
        print_json(
            {
                **{kind.value: [_document(each) for each in entries] for kind, entries in listed.items()},
                "hash": hashes[Kind.ACTIONS],
                "hash_of_reads": hashes[Kind.READS],
                "hash_of_grants": hashes[Kind.GRANTS],
                "errors": [] if broken is None else [broken.to_json()],
            }
        )
    elif any(listed.values()):
        headings = ("when", "who", "where", "what", "of", "")
        rows = [_row(each) for each in sorted((each for entries in listed.values() for each in entries), key=_moment)]
        print_table([(heading, False) for heading in headings], rows)
    if broken is not None:
        from penstock.errors import render

        note(render(broken))
        raise typer.Exit(broken.exit_code)
    if not as_json:
        say(_summary({kind: len(entries) for kind, entries in record.items()}, hashes))


def _summary(counts: Mapping[Kind, int], hashes: Mapping[Kind, str | None]) -> str:
    found = [kind for kind in Kind if hashes[kind] is not None]
    if not found:
        return "No action yet."
    if found == [Kind.ACTIONS]:
        return f"{plural(counts[Kind.ACTIONS], 'action')}, none changed. Hash of the newest: {hashes[Kind.ACTIONS]}"
    numbers = [plural(counts[kind], _noun(kind)) for kind in Kind if kind in found or kind is Kind.ACTIONS]
    newest = ", ".join(f"{_noun(kind)}: {hashes[kind]}" for kind in found)
    return f"{', '.join(numbers[:-1])} and {numbers[-1]}, none changed. Hash of the newest {newest}"


def _noun(kind: Kind) -> str:
    return kind.value.removesuffix("s")


def _wanted(user: str | None, table: str | None, since: datetime | None) -> Callable[[RecordedAction], bool]:
    """Returns which entries to list; one that cannot be read is always listed."""
    from penstock.graph.identifier import names_of_recorded

    if since is not None and since.tzinfo is None:
        since = since.replace(tzinfo=UTC)

    def wanted(entry: RecordedAction) -> bool:
        if entry.event is None:
            return True
        details = _details(entry)
        names = {name for each in _tables(entry) for name in names_of_recorded(each)}
        return (
            (user is None or str(details.get("user_name") or "").partition(" ")[0] == user)
            and (table is None or table.casefold() in names)
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
    from penstock.access.store import GRANT, REVOKE
    from penstock.events.log.reads import READ

    action, arguments = str(details.get("action") or "?"), details.get("arguments") or {}
    if action in {GRANT, REVOKE}:
        towards = "to" if action == GRANT else "from"
        on, principal = arguments.get("on"), arguments.get("principal")
        return f"{action.lower()} {arguments.get('privilege')} on {on} {towards} {principal}"
    if action != READ:
        return action.lower().replace("_", " ")
    words = (arguments.get("command"), arguments.get("statement") or arguments.get("filter"))
    did = "refused" if arguments.get("refused") else f"read {plural(arguments.get('rows') or 0, 'row')}"
    return f"{did}: {' '.join(str(each) for each in words if each)}"


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

"""`penstock audit`: who did what to the pipeline, and whether that record is as it was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.options import AsJson
from penstock.cli.project import Project, project_command
from penstock.cli.screen.console import note, plural, print_json, print_table, say
from penstock.errors import StateError

if TYPE_CHECKING:
    from penstock.events.log.audit import RecordedAction


@project_command(scripts=True)
def audit(
    *,
    config: Project,
    expect: Annotated[
        str | None,
        typer.Option("--expect", metavar="HASH", help="The record must hold this hash of an earlier 'penstock audit'."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List who did what, when and from where; exit code 3 when that record was changed.

    Each action has the hash of the one before it, so that one that is changed, taken out or put in is noticed. Keep
    the hash that is printed elsewhere, and give it with --expect: then it is also noticed when the newest are gone.
    """
    from penstock.events.log.audit import recorded_actions

    actions = list(recorded_actions(config.storage))
    newest = next((each.hash for each in reversed(actions) if each.hash is not None), None)
    wrong = [_words(each) for each in actions if each.tampering is not None]
    if expect is not None and expect.strip().lower() not in {each.hash for each in actions}:
        wrong.append(f"no action has the hash {expect}: the newest ones were taken out, or all of them replaced")
    broken = StateError("AUDIT_CHAIN_BROKEN", storage=config.storage, wrong="; ".join(wrong)) if wrong else None
    if as_json:
        errors = [] if broken is None else [broken.to_json()]
        print_json({"actions": [_document(each) for each in actions], "hash": newest, "errors": errors})
    elif actions:
        headings = ("when", "who", "where", "what", "of", "")
        print_table([(heading, False) for heading in headings], [_row(each) for each in actions])
    if broken is not None:
        from penstock.errors import render

        note(render(broken))
        raise typer.Exit(broken.exit_code)
    if not as_json:
        say(
            f"{plural(len(actions), 'action')}, none changed. Hash of the newest: {newest}"
            if newest
            else "No action yet."
        )


def _document(action: RecordedAction) -> dict[str, Any]:
    from penstock.events.codec import format_timestamp

    event, details = action.event, _details(action)
    return {
        "sequence": None if event is None else event.sequence,
        "timestamp": None if event is None else format_timestamp(event.timestamp),
        "host": None if event is None else event.origin.host,
        **{key: details.get(key) for key in ("user_name", "through", "from", "action", "arguments")},
        "hash": action.hash,
        "wrong": None if action.tampering is None else action.tampering.value,
    }


def _row(action: RecordedAction) -> tuple[str, ...]:
    details, event = _details(action), action.event
    where = " ".join(str(each) for each in (details.get("through"), details.get("from")) if each)
    return (
        "" if event is None else event.timestamp.astimezone().strftime("%Y-%m-%d %H:%M:%S"),
        str(details.get("user_name") or "?"),
        f"{'' if event is None else event.origin.host}, {where}" if where else "",
        str(details.get("action") or "?").lower().replace("_", " "),
        "" if event is None else event.origin.dataset_name or "",
        "" if action.tampering is None else action.tampering.value,
    )


def _details(action: RecordedAction) -> dict[str, Any]:
    from penstock.events.flows.facts import details_of

    return {} if action.event is None else dict(details_of(action.event))


def _words(action: RecordedAction) -> str:
    number = "an action" if action.event is None else f"the action with sequence {action.event.sequence}"
    return f"{number} {'' if action.tampering is None else action.tampering.value}"

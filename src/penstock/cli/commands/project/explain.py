"""`penstock explain CONDITION`: what an error means and what to do."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.options import AsJson
from penstock.cli.screen.console import print_json, print_table, say
from penstock.errors import ConfigError, conditions, did_you_mean


def explain(
    condition: Annotated[
        str | None, typer.Argument(metavar="CONDITION", help="The name in brackets; all of them when left out.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Explain an error by its name, or list all errors.

    Values that an error fills in are shown as `<name>`.
    """
    known = conditions()
    if condition is None:
        if as_json:
            print_json([_document(name) for name in known])
        else:
            print_table([("condition", False), ("meaning", False)], [(one.name, one.message) for one in known.values()])
        return
    name = condition.strip("[] ").upper().replace("-", "_")
    if name not in known:
        raise ConfigError(
            "UNKNOWN_CONDITION",
            name=condition,
            hint=did_you_mean(name, known, also="Its name stands in brackets before the message."),
        )
    if as_json:
        print_json(_document(name))
        return
    found = known[name]
    say(f"[{found.name}]\n  {found.message}\n  Fix: {found.fix}\n  SQLSTATE: {found.sql_state}")
    say(f"  During a run: {found.retry.words}")


def _document(name: str) -> dict[str, str]:
    found = conditions()[name]
    return {
        "condition": found.name,
        "message": found.message,
        "fix": found.fix,
        "sql_state": found.sql_state,
        "retry": found.retry.value,
    }

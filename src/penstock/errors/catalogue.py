"""The condition catalogue: `conditions.json`, sorted by name, one entry per condition."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import resources


class Retry(Enum):
    """Whether the runtime may try the same work again after this condition."""

    NEVER = "never"
    BACKOFF = "backoff"
    OUTAGE = "outage"
    """A service is away: only waiting helps, so a continuous run waits as long as it takes."""

    @property
    def words(self) -> str:
        """What a run does, for people."""
        return {
            Retry.NEVER: "not tried again",
            Retry.BACKOFF: "tried again, with growing pauses",
            Retry.OUTAGE: "tried again, with growing pauses; in a continuous run until the service is back",
        }[self]


@dataclass(frozen=True, slots=True)
class Condition:
    """One named condition.

    `message` and `fix` hold `<fact>` placeholders; every placeholder of both is a fact that the
    raiser supplies. `sql_state` follows Spark's list; `retry` decides automatic retries.
    """

    name: str
    message: str
    fix: str
    sql_state: str
    retry: Retry

    @property
    def facts(self) -> frozenset[str]:
        """The names of the facts that message and fix need."""
        return frozenset(_PLACEHOLDER.findall(self.message + self.fix))


_PLACEHOLDER = re.compile(r"<([a-z_]+)>")


@cache
def conditions() -> dict[str, Condition]:
    """Returns the whole catalogue by name; read once per process."""
    text = (resources.files("penstock.errors") / "conditions.json").read_text(encoding="utf-8")
    return {
        name: Condition(name, entry["message"], entry["fix"], entry["sqlState"], Retry(entry["retry"]))
        for name, entry in json.loads(text).items()
    }


def condition(name: str) -> Condition:
    """Returns the condition called `name`; a KeyError is a bug of the raiser, never of the user."""
    return conditions()[name]


def fill(template: str, facts: dict[str, str]) -> str:
    """Returns `template` with each `<fact>` replaced; a missing fact stays visible as `<fact>`.

    White space at the end is removed: a template may end with a `<suggestion>` that is empty.
    """
    return _PLACEHOLDER.sub(lambda match: facts.get(match.group(1), match.group(0)), template).rstrip()

"""The rules as `catalogue.toml` has them, each with its check."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Final

from penstock.care.lint.finding import Check, Rule
from penstock.care.lint.rules import checkpoints, declarations, driver, sinks, sources, state, triggers
from penstock.observe.problems import Severity

CHECKS: Final[Mapping[str, Check]] = {
    name: check
    for module in (checkpoints, triggers, state, sources, sinks, driver, declarations)
    for name, check in module.CHECKS.items()
}
"""What finds each rule, by its name."""


@functools.cache
def rules() -> Mapping[str, Rule]:
    """Returns every rule by its name, in the order of the catalogue."""
    text = (resources.files("penstock.care.lint") / "catalogue.toml").read_text(encoding="utf-8")
    return {
        name: Rule(name, Severity(entry["severity"]), entry["why"], entry["fix"], entry["bad"], entry["good"])
        for name, entry in tomllib.loads(text).items()
    }

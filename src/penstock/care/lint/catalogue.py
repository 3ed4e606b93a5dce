"""The rules as `catalogue.toml` has them, each with its check."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Final

from penstock.care.finding import Rule, read_rules
from penstock.care.lint.finding import Check
from penstock.care.lint.rules import checkpoints, declarations, driver, sinks, sources, state, triggers

CHECKS: Final[Mapping[str, Check]] = {
    name: check
    for module in (checkpoints, triggers, state, sources, sinks, driver, declarations)
    for name, check in module.CHECKS.items()
}
"""What finds each rule, by its name."""


@functools.cache
def rules() -> Mapping[str, Rule]:
    """Returns every rule by its name, in the order of the catalogue."""
    return read_rules("penstock.care.lint")

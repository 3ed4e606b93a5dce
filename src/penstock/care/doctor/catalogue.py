"""The rules of `penstock doctor` as `catalogue.toml` has them."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from penstock.care.finding import Rule, read_rules


@functools.cache
def rules() -> Mapping[str, Rule]:
    """Returns every rule by its name, in the order of the catalogue."""
    return read_rules("penstock.care.doctor")

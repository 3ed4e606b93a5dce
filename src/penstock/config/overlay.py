"""Lays settings over settings: an environment over the file, a file over the one that it extends."""

from __future__ import annotations

from penstock.config.reader import Placed, Settings


def overlay(base: Settings, over: Settings) -> Settings:
    """Returns `base` with the entries of `over`; mappings are merged by key, lists are replaced."""
    merged = dict(base)
    for name, placed in over.items():
        below = base.get(name)
        if below is not None and isinstance(below.value, dict) and isinstance(placed.value, dict):
            merged[name] = Placed({**below.value, **placed.value}, placed.location)
        else:
            merged[name] = placed
    return merged

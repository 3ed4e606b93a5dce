"""Puts a function in the place of a method, for a while."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def patched(owner: type, method: str, replacement: Callable[..., Any]) -> Iterator[None]:
    """Makes `owner.method(…)` call `replacement(original, …)` inside the block, in every thread."""
    original, before = getattr(owner, method), owner.__dict__[method]  # the second keeps a class method what it is

    @functools.wraps(original)
    def hooked(*arguments: Any, **named: Any) -> Any:
        return replacement(original, *arguments, **named)

    setattr(owner, method, hooked)
    try:
        yield
    finally:
        setattr(owner, method, before)

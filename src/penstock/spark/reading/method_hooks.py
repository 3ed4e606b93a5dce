"""Puts a function in the place of one of PySpark's methods: for good, or for a while."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Replacement = Callable[..., Any]
"""Called with the original method, then with the arguments of the call."""


def hook(owner: type, method: str, replacement: Replacement) -> None:
    """Makes `owner.method(…)` call `replacement(original, …)`, in every thread; that of a class gets no class."""
    original = getattr(owner, method)

    @functools.wraps(original)
    def call(*arguments: Any, **named: Any) -> Any:
        return replacement(original, *arguments, **named)

    of_class = isinstance(owner.__dict__.get(method), (classmethod, staticmethod))
    setattr(owner, method, staticmethod(call) if of_class else call)


@contextmanager
def hooked(owner: type, method: str, replacement: Replacement) -> Iterator[None]:
    """A `hook` that goes with the end of the block."""
    before = owner.__dict__[method]  # unlike getattr, with the class method around a function
    hook(owner, method, replacement)
    try:
        yield
    finally:
        setattr(owner, method, before)

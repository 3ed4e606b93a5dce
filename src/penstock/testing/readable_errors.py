"""Errors as a test's report shows them: the condition, the place and the fix, without the way through the engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import PenstockError, SeveralErrors, render


@contextmanager
def readable_errors() -> Iterator[None]:
    """Puts the whole text of a PenstockError into the report of pytest, in the place of its stack trace."""
    __tracebackhide__ = True
    try:
        yield
    except PenstockError as raised:
        error = raised.errors[0] if isinstance(raised, SeveralErrors) and len(raised.errors) == 1 else raised
        if not hasattr(error, "__notes__"):
            error.add_note(render(error))
        raise error.with_traceback(None) from None

"""The place in a SQL statement that an exception is about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.errors import PySparkException

from penstock.errors import PenstockError, StatementPosition

_POSITION = "_penstock_position"


def statement_position(error: BaseException) -> StatementPosition | None:
    """Returns the place in the author's statement that `error` is about, if it is about one."""
    if isinstance(error, PenstockError):
        return error.position
    position = getattr(error, _POSITION, None)
    return position if isinstance(position, StatementPosition) else None


def set_position(error: Any, position: StatementPosition) -> None:
    """Gives an exception its place, unless it has one; Spark's keep their type, as the author may catch them."""
    if statement_position(error) is not None:
        return
    if isinstance(error, PenstockError):
        error.position = position
    else:
        setattr(error, _POSITION, position)


@contextmanager
def placing(statement: str, offset: int) -> Iterator[None]:
    """Gives errors from inside, that have no place of their own, the one at `offset` of `statement`."""
    try:
        yield
    except (PenstockError, PySparkException) as error:
        set_position(error, StatementPosition.of(statement, offset))
        raise

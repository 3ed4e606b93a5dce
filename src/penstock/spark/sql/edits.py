"""A statement of which parts are replaced, and the way back from a place in the result, also of an error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.errors import PySparkException

from penstock.errors import StatementPosition
from penstock.spark import _jvm
from penstock.spark.failures.statement_places import set_position


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """`text[start:stop]` becomes `replacement`; an edit with `start == stop` inserts."""

    start: int
    stop: int
    replacement: str


@dataclass(frozen=True, slots=True)
class EditedStatement:
    """A statement as its author wrote it, and edits of it that do not overlap."""

    original: str
    edits: tuple[Edit, ...] = ()

    @classmethod
    def of(cls, original: str, edits: Iterable[Edit]) -> EditedStatement:
        """Returns `original` under `edits`, in any order."""
        return cls(original, tuple(sorted(edits)))

    @property
    def text(self) -> str:
        """The statement to run."""
        parts, end = [], 0
        for edit in self.edits:
            parts += [self.original[end : edit.start], edit.replacement]
            end = edit.stop
        return "".join([*parts, self.original[end:]])

    def original_offset(self, offset: int) -> int:
        """Returns where the character at `offset` of `text` comes from; of a replacement, where that begins."""
        shift = 0
        for edit in self.edits:
            begin = edit.start + shift
            if offset < begin:
                break
            if offset < begin + len(edit.replacement):
                return edit.start
            shift += len(edit.replacement) - (edit.stop - edit.start)
        return offset - shift


@contextmanager
def placing_as_spark_says(statement: EditedStatement) -> Iterator[None]:
    """Gives exceptions of Spark from inside the place that they name, in the text before its edits."""
    try:
        yield
    except PySparkException as error:
        offset = _jvm.statement_offset(error, statement.text)
        if offset is not None:
            set_position(error, StatementPosition.of(statement.original, statement.original_offset(offset)))
        raise

"""What a dev session shows of a dataset: its result on a sample, and how that differs from the one before an edit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from penstock.errors import PenstockError
from penstock.events.types import ExpectationCount
from penstock.graph.identifier import Identifier
from penstock.graph.schema.table_schema import Schema
from penstock.spark.plans.row_difference import DifferentRow, RowDifference


@dataclass(frozen=True, slots=True)
class SampleResult:
    """What a dataset's query gives for a sample of its inputs.

    `rows` are those that the expectations let in; `frame` has the same for who reads the dataset. `whole` says that no
    row of the result was left out. `stored` are the tables whose rows of the pipeline's storage were read, `samples`
    the keys of all samples that were. `private` says that a row filter or masks protect rows in it. `notes` say what
    the sample does not show.
    """

    dataset: Identifier
    kind: str
    schema: Schema
    rows: tuple[tuple[Any, ...], ...]
    frame: DataFrame
    expectations: tuple[ExpectationCount, ...] = ()
    whole: bool = True
    stored: frozenset[Identifier] = frozenset()
    samples: frozenset[int] = frozenset()
    private: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResultChange:
    """How a result differs from the one before: `columns` as `+ name type`, `- name type`, `name old -> new`.

    `rows` compares the columns that both have; left is the result before.
    """

    columns: tuple[str, ...]
    rows: RowDifference

    @property
    def none(self) -> bool:
        """Whether both are the same."""
        return not self.columns and self.rows.same


@dataclass(frozen=True, slots=True)
class DatasetOutcome:
    """What became of one dataset after an edit: a result with its change, or an error; `before` None is a new one."""

    dataset: Identifier
    result: SampleResult | None = None
    change: ResultChange | None = None
    error: PenstockError | None = None


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """What an edit did. `errors` keep the whole pipeline from being valid: then nothing was computed.

    `validated` and `seconds` are the times from the start of the work until the pipeline was validated, and until the
    results were there.
    """

    datasets: tuple[DatasetOutcome, ...] = ()
    removed: tuple[Identifier, ...] = ()
    errors: tuple[PenstockError, ...] = ()
    warnings: tuple[PenstockError, ...] = ()
    count: int = 0
    validated: float = 0.0
    seconds: float = 0.0


def compare_results(before: SampleResult, after: SampleResult, *, limit: int = 10) -> ResultChange:
    """Compares two results, each row as often as it is there, without regard to order.

    Args:
        before: the result before an edit.
        after: the one after it.
        limit: how many different rows are returned.
    """
    old, new = ({each.name: each.type for each in result.schema.columns} for result in (before, after))
    columns = [
        *(f"- {name} {kind}" for name, kind in old.items() if name not in new),
        *(f"+ {name} {kind}" for name, kind in new.items() if name not in old),
        *(f"{name} {kind} -> {new[name]}" for name, kind in old.items() if new.get(name, kind) != kind),
    ]
    common = [name for name in new if name in old]
    left, right = _rows(before, common), _rows(after, common)
    counts = Counter({key: len(rows) for key, rows in left.items()})
    others = Counter({key: len(rows) for key, rows in right.items()})
    only_left, only_right = counts - others, others - counts
    different = [
        *(DifferentRow(True, times, left[key][0]) for key, times in only_left.items()),
        *(DifferentRow(False, times, right[key][0]) for key, times in only_right.items()),
    ]
    rows = RowDifference(
        tuple(common),
        (counts & others).total(),
        only_left.total(),
        only_right.total(),
        tuple(_balanced(different, limit)),
    )
    return ResultChange(tuple(columns), rows)


def _rows(result: SampleResult, columns: Sequence[str]) -> dict[str, list[tuple[Any, ...]]]:
    """Returns the rows by a text that only equal ones share: values of some types cannot be keys."""
    positions = [[each.name for each in result.schema.columns].index(name) for name in columns]
    found: dict[str, list[tuple[Any, ...]]] = {}
    for row in result.rows:
        values = tuple(row[position] for position in positions)
        found.setdefault(repr(values), []).append(values)
    return found


def _balanced(different: Sequence[DifferentRow], limit: int) -> list[DifferentRow]:
    """Returns at most `limit` rows, so that both sides are among them."""
    removed, added = ([row for row in different if row.in_left is side] for side in (True, False))
    half = limit // 2
    first = removed[: max(half, limit - len(added))]
    return [*first, *added[: limit - len(first)]]

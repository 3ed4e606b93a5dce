"""Which columns a column is made of, as analysis found out. Free of Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum


class Transformation(Enum):
    """How an input column comes into an output column, or decides on it; the names are those of OpenLineage.

    The first three are direct: the value is made of the input's, as it is, changed, or of several rows. The others
    are indirect: the input decides which value or which rows there are.
    """

    IDENTITY = "IDENTITY"
    TRANSFORMATION = "TRANSFORMATION"
    AGGREGATION = "AGGREGATION"
    JOIN = "JOIN"
    GROUP_BY = "GROUP_BY"
    FILTER = "FILTER"
    SORT = "SORT"
    WINDOW = "WINDOW"
    CONDITIONAL = "CONDITIONAL"

    @property
    def direct(self) -> bool:
        """Whether the output's value is made of the input's."""
        return self in _DIRECT

    def before(self, last: Transformation) -> Transformation:
        """Returns what this one and then `last` are together."""
        if not (self.direct and last.direct):
            return self if last.direct else last
        return max(self, last, key=_DIRECT.index)


_DIRECT = (Transformation.IDENTITY, Transformation.TRANSFORMATION, Transformation.AGGREGATION)
_ORDER = {each: place for place, each in enumerate(Transformation)}


@dataclass(frozen=True, slots=True)
class InputColumn:
    """A column that is read, and how it is used.

    `dataset` is `schema.name` of a dataset of the pipeline, or `format description` of a source outside of it, as in
    `kafka orders`. Views are seen through: it is never one.
    """

    dataset: str
    column: str
    how: tuple[Transformation, ...]


@dataclass(frozen=True, slots=True)
class Origins:
    """What one column, or the choice of the rows, is made of.

    It is built up while a plan is walked through. Not `resolved` says that there can be more inputs than are known.
    """

    inputs: Mapping[tuple[str, str], frozenset[Transformation]]
    resolved: bool = True

    def used(self, how: Transformation) -> Origins:
        """Returns the origins of what is made of this column in a way."""
        if how is Transformation.IDENTITY:
            return self
        return Origins(
            {key: frozenset(each.before(how) for each in kinds) for key, kinds in self.inputs.items()}, self.resolved
        )

    @classmethod
    def together(cls, parts: Iterable[Origins]) -> Origins:
        """Returns the origins of what is made of several columns; of the direct ways of an input one counts."""
        inputs: dict[tuple[str, str], frozenset[Transformation]] = {}
        resolved = True
        for part in parts:
            resolved = resolved and part.resolved
            for key, kinds in part.inputs.items():
                inputs[key] = _farthest(inputs[key] | kinds) if key in inputs else kinds
        return cls(inputs, resolved)

    @property
    def columns(self) -> tuple[InputColumn, ...]:
        """The inputs, sorted by name."""
        return tuple(
            InputColumn(dataset, column, tuple(sorted(kinds, key=lambda kind: _ORDER[kind])))
            for (dataset, column), kinds in sorted(self.inputs.items())
        )


NOTHING = Origins({})
"""Of a constant."""

UNKNOWN = Origins({}, resolved=False)


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """One column of a flow's query. Not `resolved` says that there can be more inputs than are known."""

    name: str
    inputs: tuple[InputColumn, ...] = ()
    resolved: bool = True


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """What the columns of a flow's query are made of, and which columns decide on its `rows`.

    Of a query that is wider than the event log takes, the last columns are `left_out`.
    """

    columns: tuple[OutputColumn, ...]
    rows: tuple[InputColumn, ...] = ()
    rows_resolved: bool = True
    left_out: int = 0

    @classmethod
    def unknown(cls, names: Iterable[str]) -> ColumnLineage:
        """Returns that of a query that could not be followed."""
        return cls(tuple(OutputColumn(name, resolved=False) for name in names), rows_resolved=False)

    @classmethod
    def of(cls, columns: Iterable[tuple[str, Origins]], rows: Origins) -> ColumnLineage:
        """Returns what is known of named columns and of the rows."""
        outputs = tuple(OutputColumn(name, origins.columns, origins.resolved) for name, origins in columns)
        return cls(outputs, rows.columns, rows.resolved)


def _farthest(kinds: frozenset[Transformation]) -> frozenset[Transformation]:
    direct = [kind for kind in kinds if kind.direct]
    if len(direct) < 2:
        return kinds
    return frozenset(kind for kind in kinds if not kind.direct) | {max(direct, key=_DIRECT.index)}

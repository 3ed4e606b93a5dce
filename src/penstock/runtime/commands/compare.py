"""Whether two Delta tables have the same rows: an old table and the pipeline's that is to take its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.config import PipelineConfig
from penstock.errors import ConfigError, did_you_mean
from penstock.graph.identifier import Identifier
from penstock.graph.protection import stored_protection
from penstock.graph.sql.names import quoted
from penstock.runtime.commands.query import for_readers
from penstock.runtime.project.watched_workspace import watched_workspace
from penstock.runtime.project.workspace import Progress, Workspace
from penstock.spark.failures.causes import causes_of, reason_of
from penstock.spark.failures.translate import missing_files
from penstock.spark.plans.comparable import as_comparable
from penstock.spark.plans.row_difference import RowDifference, compare_rows
from penstock.storage.delta.table import table_properties


@dataclass(frozen=True, slots=True)
class ComparedTable:
    """One side: `name` is how it is called, `uri` where it lies; `identifier` is None for a table given by its path."""

    name: str
    uri: str
    identifier: Identifier | None


@dataclass(frozen=True, slots=True)
class TableComparison:
    """How two tables compare: left is the pipeline's.

    `difference` is of the columns that both have; `only_left` and `only_right` are those that one has. `changed` says
    for each compared column in how many rows of the same key its values differ, None without a key.
    """

    difference: RowDifference
    only_left: tuple[str, ...]
    only_right: tuple[str, ...]
    changed: tuple[tuple[str, int], ...] | None


def compare_tables(
    config: PipelineConfig,
    left: ComparedTable,
    right: ComparedTable,
    *,
    progress: Progress,
    where: str | None = None,
    without: Sequence[str] = (),
    key: Sequence[str] = (),
    limit: int = 20,
    spark: SparkSession | None = None,
) -> TableComparison:
    """Compares the newest versions of two tables, each row as often as it is there, without regard to order.

    Of a table with a row filter or masks what its readers see is compared, and the same of the other table, unless it
    has its own. Both tables are only read; writers may be at work.

    Args:
        config: the pipeline.
        left: a table of the pipeline.
        right: the other table.
        progress: called with a line before each slow step.
        where: a condition of Spark SQL, for the rows of both sides that are compared; all of them without one.
        without: columns that are not compared.
        key: columns that tell which rows belong together; compared as `<=>` does.
        limit: how many different rows are returned.
        spark: a session to run on; without one Spark is started.

    Raises:
        ConfigError: COMPARE_COLUMN_NOT_FOUND, COMPARE_NOT_POSSIBLE.
        StateError: TABLE_PROTECTION_FAILED, DATA_FILES_MISSING.
        ConfigError, ExternalError: what keeps Spark from starting, or the tables from being read.
    """
    with watched_workspace(config, progress, spark=spark) as workspace:
        try:
            shown = zip((left, right), _properties(left.uri, right.uri), strict=True)
            ours, theirs = (_rows(workspace, side, seen, where, progress) for side, seen in shown)
            names = _common([(left.name, ours.columns), (right.name, theirs.columns)], without, key)
            progress("Comparing the rows")
            one, other = (frame.select(*map(quoted, names)) for frame in (ours, theirs))
            difference = compare_rows(one, other, limit=limit)
            changed = _changed(one, other, key) if key else None
        except (PySparkException, Py4JJavaError) as error:
            if (missing := missing_files(causes_of(error), dataset=None)) is not None:
                raise missing from error
            if isinstance(error, Py4JJavaError):
                raise
            reason = reason_of(error)
            raise ConfigError("COMPARE_NOT_POSSIBLE", name=left.name, other=right.name, reason=reason) from error
    apart = [_missing(frame, names, without) for frame in (ours, theirs)]
    return TableComparison(difference, apart[0], apart[1], changed)


def _properties(left: str, right: str) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the properties whose row filter and masks hold for each side."""
    ours, theirs = table_properties(left), table_properties(right)
    return (ours if _is_protected(ours) else theirs), (theirs if _is_protected(theirs) else ours)


def _is_protected(properties: dict[str, str]) -> bool:
    try:
        return stored_protection(properties) is not None
    except ValueError:
        return True


def _rows(
    workspace: Workspace, side: ComparedTable, properties: dict[str, str], where: str | None, progress: Progress
) -> DataFrame:
    frame = workspace.spark.read.format("delta").load(side.uri)
    name = side.identifier or Identifier("", side.name)
    shown = for_readers(frame, name, properties, lambda: workspace.define_functions(progress))
    return shown if where is None else shown.where(where)


def _common(sides: Sequence[tuple[str, list[str]]], without: Sequence[str], key: Sequence[str]) -> list[str]:
    """Returns the columns that are compared, as the first side spells them; `sides` have a name and columns each."""
    (name, ours), (other, theirs) = sides
    for table, columns in sides:
        _require(key, table, columns)
    _require(without, f"{name}, {other}", [*ours, *theirs])
    there, left_out = set(map(str.casefold, theirs)), set(map(str.casefold, without))
    names = [column for column in ours if column.casefold() in there - left_out]
    if not names:
        raise ConfigError("COMPARE_NOT_POSSIBLE", name=name, other=other, reason="they have no column in common")
    return names


def _require(wanted: Sequence[str], table: str, columns: Sequence[str]) -> None:
    there = set(map(str.casefold, columns))
    for column in wanted:
        if column.casefold() not in there:
            hint = did_you_mean(column, list(columns)) or f"There are: {', '.join(columns)}."
            raise ConfigError("COMPARE_COLUMN_NOT_FOUND", column=column, table=table, hint=hint)


def _missing(frame: DataFrame, compared: Sequence[str], without: Sequence[str]) -> tuple[str, ...]:
    known = set(map(str.casefold, (*compared, *without)))
    return tuple(name for name in frame.columns if name.casefold() not in known)


def _changed(one: DataFrame, other: DataFrame, key: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Joins both sides by the key, and counts for each other column where the values differ."""
    keys = set(map(str.casefold, key))
    pairs = list(zip(_values(one, "l"), _values(other, "r"), strict=True))
    same_key = [
        ours.eqNullSafe(theirs)
        for name, (ours, theirs) in zip(one.columns, pairs, strict=True)
        if name.casefold() in keys
    ]
    counts = {
        name: sf.count_if(~ours.eqNullSafe(theirs))
        for name, (ours, theirs) in zip(one.columns, pairs, strict=True)
        if name.casefold() not in keys
    }
    if not counts:
        return ()
    row = one.alias("l").join(other.alias("r"), same_key).agg(*counts.values()).collect()[0]
    return tuple(zip(counts, map(int, row), strict=True))


def _values(side: DataFrame, alias: str) -> list[Column]:
    return [as_comparable(sf.col(f"{alias}.{quoted(field.name)}"), field.dataType) for field in side.schema]

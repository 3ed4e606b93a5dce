"""Which rows of a batch repeat the key of another row, of the batch or of the table."""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from penstock.errors import StateError
from penstock.graph.companions import quarantine
from penstock.graph.elements import Expectation, OnViolation, UniqueKey
from penstock.graph.sql.names import quoted
from penstock.spark.expectations.observed import REPEATS, is_judgement, meets
from penstock.spark.plans.comparable import as_comparable
from penstock.storage import Storage
from penstock.storage.checkpoint.backup import COMPARED_WITH
from penstock.storage.delta.table import open_delta_table

_KEEPING_OUT = {OnViolation.DROP, OnViolation.QUARANTINE}
_BROADCAST_ROWS = 200_000


@dataclass(frozen=True, slots=True)
class PinnedVersion:
    """The version of a table that a batch is compared with, kept beside the flow's checkpoints.

    A batch that runs again after a crash may have committed its rows already: compared with them, each
    row would repeat itself. So the version is written down before the first commit, and read again.
    """

    path: str
    checkpoints: str
    dataset: str
    flow: str

    def of(self, query: str, batch_id: int) -> int:
        """Returns the version for a query's batch, always the same for the same batch.

        Raises:
            StateError: CHECKPOINT_FILE_DAMAGED; the table has the batch, and what it was compared with is lost.
        """
        storage, table = Storage(self.checkpoints), open_delta_table(self.path)
        if storage.exists(COMPARED_WITH):
            try:
                pinned = json.loads(storage.read_text(COMPARED_WITH))
                if (pinned["query"], pinned["batch"]) == (query, batch_id):
                    return int(pinned["version"])
            except (ValueError, KeyError, TypeError) as error:
                written = table.transaction_version(query)
                if written is not None and written >= batch_id:
                    raise self._damaged(storage.resolve(COMPARED_WITH)) from error
        note = {"query": query, "batch": batch_id, "version": table.version()}
        storage.write_text_atomic(COMPARED_WITH, json.dumps(note))
        return table.version()

    def _damaged(self, file: str) -> StateError:
        reason = "does not tell any more with which version of the table the batch in flight was compared"
        return StateError(
            "CHECKPOINT_FILE_DAMAGED",
            dataset=self.dataset,
            flow=self.flow,
            name=self.dataset,
            file=file,
            reason=reason,
        )


def mark_repeats(rows: DataFrame, expectations: Sequence[Expectation], stored: DataFrame | None) -> DataFrame:
    """Adds a boolean column per expectation of uniqueness: `_penstock_repeats_<position>`.

    Of the rows with one key, one is kept: none if the key is in `stored` (None: the table is replaced),
    else one that breaks no rule which keeps it out, so that a wrong row replaces no other. Which
    one depends on the rows' values alone, so it is the same when the batch runs again. `rows` is
    executed several times.
    """
    passing = sf.lit(True)
    for position, expectation in enumerate(expectations):
        if expectation.on_violation in _KEEPING_OUT and not isinstance(expectation.constraint, UniqueKey):
            passing = passing & meets(rows, expectations, position)
    few = stored is not None and rows.count() <= _BROADCAST_ROWS
    marked = rows
    for position, expectation in enumerate(expectations):
        if not isinstance(expectation.constraint, UniqueKey):
            continue
        columns = expectation.constraint.columns
        known = None if stored is None else _known_keys(rows, stored, columns, few=few)
        name = f"{REPEATS}{position}"
        marked = _with_repeats(marked, name, columns, known, passing, values=rows)
        if expectation.on_violation in _KEEPING_OUT:
            passing = passing & ~sf.col(name)
    return marked


def _with_repeats(
    marked: DataFrame, name: str, columns: Sequence[str], known: DataFrame | None, passing: Column, *, values: DataFrame
) -> DataFrame:
    keys = [sf.col(quoted(column)) for column in columns]
    complete = functools.reduce(operator.and_, [key.isNotNull() for key in keys])
    order = Window.partitionBy(*keys).orderBy(passing.desc(), *_fingerprints(values))
    repeats = sf.row_number().over(order) > 1
    if known is not None:
        same = [key == sf.col(f"{REPEATS}key_{index}") for index, key in enumerate(keys)]
        marked = marked.join(known, same, "left")
        repeats = repeats | sf.col(f"{REPEATS}key_0").isNotNull()
    marked = marked.withColumn(name, complete & repeats)
    return marked.drop(*(f"{REPEATS}key_{index}" for index in range(len(keys))))


def _known_keys(rows: DataFrame, stored: DataFrame, columns: Sequence[str], *, few: bool) -> DataFrame:
    """Returns the keys of `rows` that the table has, each once."""
    wanted = rows.select(*(sf.col(quoted(column)).alias(f"w{index}") for index, column in enumerate(columns)))
    wanted = wanted.distinct()
    names = [f"{REPEATS}key_{index}" for index in range(len(columns))]
    keys = stored.select(*(sf.col(quoted(c)).alias(name) for name, c in zip(names, columns, strict=True)))
    same = [sf.col(name) == sf.col(f"w{index}") for index, name in enumerate(names)]
    return keys.join(sf.broadcast(wanted) if few else wanted, same, "left_semi").distinct()


def _fingerprints(rows: DataFrame) -> list[Column]:
    """The rows' own values decide; where a row comes from, only between rows that are equal."""
    origin = [quarantine.SOURCE] if quarantine.SOURCE in rows.columns else []
    return [
        _fingerprint(rows, [name for name in rows.columns if name not in origin and not is_judgement(name)]),
        *(_fingerprint(rows, [name]) for name in origin),
    ]


def _fingerprint(rows: DataFrame, names: Sequence[str]) -> Column:
    schema = rows.schema
    return sf.xxhash64(*(as_comparable(sf.col(quoted(name)), schema[name].dataType) for name in names))

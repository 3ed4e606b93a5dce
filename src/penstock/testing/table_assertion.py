"""The assertion about a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.testing.pipeline_under_test import PipelineUnderTest
from penstock.testing.table_difference import Comparison


def assert_table(
    pipeline: PipelineUnderTest,
    name: str,
    rows: Iterable[Mapping[str, Any]],
    *,
    ignore_order: bool = True,
    tolerance: float = 0.0,
    key: str | Iterable[str] = (),
) -> None:
    """Fails with a diff unless a table holds exactly these rows, each as often as given.

    Args:
        pipeline: the pipeline under test.
        name: the table.
        rows: what it must hold. Only the columns that these rows name are compared; one that a row leaves out is NULL.
            Moments are equal at the same time, whatever their zone; those without one are UTC, and an ISO text stands
            for one. Numbers are equal as numbers, decimals too.
        ignore_order: False compares the order too, which only a materialized view with `orderBy` has.
        tolerance: by how much two floats may differ.
        key: the columns that a row is known by in the diff; without it rows that agree in most columns are compared.

    Raises:
        AssertionError: with the rows that are missing, unexpected and changed.
        ConfigError: TEST_TABLE_UNKNOWN.
    """
    __tracebackhide__ = True
    _assert_same(pipeline.table(name), name, list(rows), ignore_order=ignore_order, tolerance=tolerance, key=key)


def assert_parity(
    pipeline: PipelineUnderTest,
    name: str,
    *,
    columns: Iterable[str] = (),
    tolerance: float = 0.0,
    key: str | Iterable[str] = (),
) -> None:
    """Fails with a diff unless a table holds what the pipeline gives as one batch over all that was fed.

    A window that is open yet is in the batch and not in the stream: move the watermark first.

    Args:
        pipeline: the pipeline under test.
        name: the table.
        columns: those that are compared; all when none is named.
        tolerance: by how much two floats may differ.
        key: as in `assert_table`.

    Raises:
        AssertionError: with the rows that are missing from the stream, unexpected and changed.
        ConfigError: TEST_TABLE_UNKNOWN.
        PenstockError: what cannot be computed as a batch.
    """
    __tracebackhide__ = True
    chosen = tuple(columns)
    expected = [{column: row[column] for column in chosen or row} for row in pipeline.as_batch(name)]
    _assert_same(pipeline.table(name), name, expected, ignore_order=True, tolerance=tolerance, key=key)


def _assert_same(
    found: Sequence[Mapping[str, Any]],
    name: str,
    rows: Sequence[Mapping[str, Any]],
    *,
    ignore_order: bool,
    tolerance: float,
    key: str | Iterable[str],
) -> None:
    __tracebackhide__ = True
    comparison = Comparison(ignore_order, tolerance, (key,) if isinstance(key, str) else tuple(key))
    lines = comparison.differences(found, rows)
    if lines:
        raise AssertionError("\n".join([f"table '{name}' differs: {lines[0]}", *lines[1:]]))

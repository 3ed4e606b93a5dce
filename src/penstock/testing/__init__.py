"""Tests of pipelines: rows in, a step, tables out, on a laptop and without a network.

    def test_silver(pipeline):
        pipeline.feed("raw_orders", [{"id": 1, "amount": 5.0}, {"id": 2, "amount": -1.0}])
        pipeline.step()
        assert_table(pipeline, "silver_orders", [{"id": 1, "amount": 5.0}])

The fixture `pipeline` comes with the plugin of pytest; `pipeline(…)` of this module opens any other one.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.testing.crash import CRASH
    from penstock.testing.pipeline_under_test import Counts, PipelineUnderTest, pipeline
    from penstock.testing.splits import batch_splits
    from penstock.testing.table_assertion import assert_parity, assert_table

_PLACES = {
    "CRASH": "crash",
    "Counts": "pipeline_under_test",
    "PipelineUnderTest": "pipeline_under_test",
    "assert_parity": "table_assertion",
    "assert_table": "table_assertion",
    "batch_splits": "splits",
    "pipeline": "pipeline_under_test",
}

__all__ = ["CRASH", "Counts", "PipelineUnderTest", "assert_parity", "assert_table", "batch_splits", "pipeline"]


def __getattr__(name: str) -> Any:
    # Pytest loads the plugin in every run, also where no test needs Spark.
    if name in _PLACES:
        return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)

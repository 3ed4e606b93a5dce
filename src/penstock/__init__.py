"""Penstock: declarative streaming pipelines on Spark Structured Streaming and Delta Lake.

    import penstock as ps

    @ps.table
    @ps.expect_or_drop("an amount", "amount > 0")
    def orders():
        return spark.readStream.format("cloudFiles").option("cloudFiles.format", "json").load("./data")

The declarations are loaded at their first use, so that the command line starts without them; type
checkers and editors find them in `__init__.pyi`.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

# An installer checks this; a checkout put on PYTHONPATH does not. Parses on any Python since 3.7.
if sys.version_info < (3, 11):  # noqa: UP036 - that is the point
    sys.stderr.write(
        f"[PYTHON_TOO_OLD] Penstock needs Python 3.11 or newer; {sys.executable} is {sys.version.split()[0]}.\n"
        "  Fix: make a virtual environment with a newer one, for example 'python3.12 -m venv .venv'\n"
    )
    raise SystemExit(2)

__all__ = [
    "append_flow",
    "apply_changes",
    "apply_changes_from_snapshot",
    "create_auto_cdc_flow",
    "create_auto_cdc_from_snapshot_flow",
    "create_sink",
    "create_streaming_live_table",
    "create_streaming_table",
    "create_table",
    "create_target_table",
    "create_view",
    "expect",
    "expect_all",
    "expect_all_or_drop",
    "expect_all_or_fail",
    "expect_all_or_quarantine",
    "expect_event_time",
    "expect_or_drop",
    "expect_or_fail",
    "expect_or_quarantine",
    "expect_unique",
    "foreach_batch_sink",
    "materialized_view",
    "on_event_hook",
    "read",
    "readStream",
    "read_stream",
    "table",
    "temporary_view",
    "update_flow",
    "view",
]

_UNLISTED = "enable_local_execution"  # does nothing here; not for `from penstock import *`


def __getattr__(name: str) -> Any:
    # The names are listed, so that `from penstock import cli` does not load the declarations.
    if name in __all__ or name == _UNLISTED:
        # By name, not by statement: whoever imports `penstock` does not depend on the declarations.
        return importlib.import_module("penstock.declare.spellings").SPELLINGS[__name__][name]
    if name == "sources":
        return importlib.import_module("penstock.sources")
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message, name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Lets the user's functions reach Spark's workers, which do not have the pipeline's files."""

from __future__ import annotations

import sys
from types import ModuleType


def pickle_by_value(module: ModuleType) -> None:
    """Makes Spark send the functions of `module` as code instead of as a name to import.

    Does nothing before pyspark was imported: without it nothing is sent.
    """
    if "pyspark" not in sys.modules or sys.modules.get(module.__name__) is not module:
        return
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def pickle_as_usual(module: ModuleType) -> None:
    """Undoes `pickle_by_value`; harmless when there is nothing to undo."""
    if "pyspark" not in sys.modules:
        return
    from pyspark import cloudpickle

    if module.__name__ in cloudpickle.list_registry_pickle_by_value():  # type: ignore[no-untyped-call]
        cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]

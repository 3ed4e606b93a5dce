"""Lets the user's functions reach Spark's workers, which do not have the pipeline's files.

A function is sent as code instead of as a name to import; a module that it refers to is sent with
what a worker can use of it.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

_DRIVER_ONLY_TYPES = ("pyspark.sql.", "pyspark.core.", "py4j.")
_PLAIN_DATA_TYPES = ("pyspark.sql.types",)
_DRIVER_ONLY_MODULES = ("dlt", "penstock", "pyspark.dbutils", "pyspark.pipelines")
_OF_THIS_PROCESS = frozenset(
    {"__builtins__", "__loader__", "__spec__", "__path__", "spark", "display", "dbutils", "open"}
)


class PipelineModule(ModuleType):
    """A module of the user's; pickles to a plain module, without what lives in the driver only.

    Left out are the session, DataFrames and columns, Spark's functions made of the user's, and
    Penstock's own objects. Workers need neither the file nor Penstock.
    """

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        state = {name: value for name, value in vars(self).items() if name not in _OF_THIS_PROCESS and _travels(value)}
        return ModuleType, (self.__name__,), state


def _travels(value: object) -> bool:
    if isinstance(value, ModuleType):
        return not f"{value.__name__}.".startswith(tuple(f"{name}." for name in _DRIVER_ONLY_MODULES))
    if any(
        kind.__module__.startswith(("penstock.", *_DRIVER_ONLY_TYPES)) and kind.__module__ not in _PLAIN_DATA_TYPES
        for kind in type(value).__mro__
    ):
        return False
    return not hasattr(value, "evalType")  # a user-defined function that Spark has wrapped


def pickle_by_value(module: ModuleType) -> None:
    """Makes Spark send the functions of `module` as code.

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

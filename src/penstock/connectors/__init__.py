"""What a package needs that adds a source or a sink: `penstock.connectors`; docs/how-to/write-a-connector.md.

[project.entry-points."penstock.connectors"]
sqlite = "penstock_sqlite:CONNECTOR"
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from penstock.spark.failures.python_sources import ConnectorError
    from penstock.spark.sinks.sink import (
        BatchSink,
        JudgesOptions,
        Promise,
        PromisesByOptions,
        Sink,
        SinkBatch,
        SinkTarget,
    )
    from penstock.spark.sources.installed import Connector
    from penstock.spark.sources.option import Option
    from penstock.spark.sources.source import ChecksAccess, ReadsBatch, Source, SourceRead

__all__ = [
    "BatchSink",
    "ChecksAccess",
    "Connector",
    "ConnectorError",
    "JudgesOptions",
    "Option",
    "Promise",
    "PromisesByOptions",
    "ReadsBatch",
    "Sink",
    "SinkBatch",
    "SinkTarget",
    "Source",
    "SourceRead",
]

_HOMES: Final = {
    "penstock.spark.failures.python_sources": ("ConnectorError",),
    "penstock.spark.sinks.sink": (
        *("BatchSink", "JudgesOptions", "Promise", "PromisesByOptions"),
        *("Sink", "SinkBatch", "SinkTarget"),
    ),
    "penstock.spark.sources.installed": ("Connector",),
    "penstock.spark.sources.option": ("Option",),
    "penstock.spark.sources.source": ("ChecksAccess", "ReadsBatch", "Source", "SourceRead"),
}


def __getattr__(name: str) -> Any:
    # At its first use: a process of Spark's that reads Kinesis imports this package, and nothing of the driver's.
    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message, name=name, obj=sys.modules[__name__])

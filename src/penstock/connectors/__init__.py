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

# Each imports those before it at most: who only reads does not load the sinks.
_HOMES: Final = (
    "penstock.spark.failures.python_sources",
    "penstock.spark.sources.option",
    "penstock.spark.sources.source",
    "penstock.spark.sources.installed",
    "penstock.spark.sinks.sink",
)


def __getattr__(name: str) -> Any:
    # At its first use: a process of Spark's that reads Kinesis imports this package, and nothing of the driver's.
    for home in map(importlib.import_module, _HOMES if name in __all__ else ()):
        if hasattr(home, name):
            return getattr(home, name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message, name=name, obj=sys.modules[__name__])

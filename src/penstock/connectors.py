"""What a package needs that adds a source or a sink: `penstock.connectors`; docs/how-to/write-a-connector.md.

[project.entry-points."penstock.connectors"]
sqlite = "penstock_sqlite:CONNECTOR"
"""

from __future__ import annotations

from penstock.spark.connectors.installed import Connector
from penstock.spark.failures.python_sources import ConnectorError
from penstock.spark.sinks.sink import BatchSink, Promise, Sink, SinkBatch, SinkTarget
from penstock.spark.sources.option import Option
from penstock.spark.sources.source import ChecksAccess, ReadsBatch, Source, SourceRead

__all__ = [
    "BatchSink",
    "ChecksAccess",
    "Connector",
    "ConnectorError",
    "Option",
    "Promise",
    "ReadsBatch",
    "Sink",
    "SinkBatch",
    "SinkTarget",
    "Source",
    "SourceRead",
]

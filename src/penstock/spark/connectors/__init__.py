"""Which connector answers for a format: Penstock's own, and those of installed packages."""

from penstock.spark.connectors.format_sink import check_sink, connector_writer, member_of_several, promise_of
from penstock.spark.connectors.formats import batch_source_of, code_of, sink_of, source_of

__all__ = [
    "batch_source_of",
    "check_sink",
    "code_of",
    "connector_writer",
    "member_of_several",
    "promise_of",
    "sink_of",
    "source_of",
]

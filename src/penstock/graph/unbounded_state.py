"""The warnings about state that grows for ever, by the operator that keeps it."""

from __future__ import annotations

from typing import Final

STREAM_JOIN: Final = "stream-stream join"
UNBOUNDED_STATE: Final = {
    "aggregate": "STREAMING_AGGREGATION_WITHOUT_WATERMARK",
    "deduplicate": "STREAMING_DEDUPLICATION_WITHOUT_WATERMARK",
    STREAM_JOIN: "STREAM_STREAM_JOIN_WITHOUT_TIME_BOUND",
}
SIZE_NOT_KNOWN: Final = {
    "aggregate": "It grows with every new group.",
    "deduplicate": "It grows with every new key.",
    STREAM_JOIN: "It grows with every row.",
}
"""What a warning says of the size before anything was measured."""

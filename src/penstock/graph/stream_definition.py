"""What a streaming flow's checkpoint depends on: sources, state, output mode and query. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

WATERMARK_POLICY: Final = "spark.sql.streaming.multipleWatermarkPolicy"
"""Which of several watermarks counts, `min` or `max`."""

NO_DELAY: Final = "0 seconds"
"""How Spark writes the delay of a watermark that waits for nothing."""

STATE_STORE: Final = "spark.sql.streaming.stateStore.providerClass"
STATE_SETTINGS: Final = (
    STATE_STORE,
    "spark.sql.streaming.stateStore.compression.codec",
    "spark.sql.streaming.stateStore.encodingFormat",
    "spark.sql.streaming.stateStore.rowChecksum.enabled",
)
"""How state is stored."""


@dataclass(frozen=True, slots=True)
class StateOperator:
    """One operator that keeps state: `name` as in `ResolvedFlow.stateful`.

    `keys` is what its state is filed under and `values` what it holds, each an expression as the user would
    read it; `content` is the fingerprint of both, computed columns resolved down to the columns of the sources. It
    lacks some aggregate functions (`first`, `collect_list`, …) and the state of `applyInPandasWithState`, which `held`
    has, with the names of their fields; None when it was noted by a version that knew of `content` only.
    """

    name: str
    keys: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    content: str = ""
    held: str | None = None

    def differs(self, other: StateOperator) -> bool:
        """Whether the state of one means something else to the other, as far as both were noted."""
        held = self.held is not None and other.held is not None and self.held != other.held
        return held or self.content != other.content


@dataclass(frozen=True, slots=True)
class StreamDefinition:
    """A streaming query as its checkpoint knows it.

    `sources` says by the name of each source in the checkpoint what it reads. `operators` keep state, innermost
    first. `watermarks` gives the delay of each event-time column. `query` is a fingerprint of the whole query, which
    is the same in whatever process it is analysed; the code of Python functions is not in it. `keys` are the columns by
    which it updates the rows of a table, None when it does not.

    `settings` are those of Spark that matter to the query and that a checkpoint keeps from its first batch on, whatever
    the session says later. They are not noted: the checkpoint's own plans have them.
    """

    sources: Mapping[str, str] = field(default_factory=dict)
    operators: tuple[StateOperator, ...] = ()
    watermarks: Mapping[str, str] = field(default_factory=dict)
    output_mode: str = "append"
    query: str = ""
    keys: tuple[str, ...] | None = None
    settings: Mapping[str, str] = field(default_factory=dict, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Returns JSON-ready data for `from_json`."""
        return {
            "sources": dict(self.sources),
            "operators": [asdict(each) for each in self.operators],
            "watermarks": dict(self.watermarks),
            "output_mode": self.output_mode,
            "query": self.query,
            "keys": self.keys,
        }

    @classmethod
    def from_json(cls, stored: Any) -> StreamDefinition:
        """Returns what `to_json` gave.

        Raises:
            KeyError, TypeError, AttributeError: it is something else.
        """
        return cls(
            {str(name): str(read) for name, read in stored["sources"].items()},
            tuple(
                StateOperator(
                    str(each["name"]),
                    tuple(each["keys"]),
                    tuple(each["values"]),
                    str(each["content"]),
                    None if each.get("held") is None else str(each["held"]),
                )
                for each in stored["operators"]
            ),
            {str(column): str(delay) for column, delay in stored["watermarks"].items()},
            str(stored["output_mode"]),
            str(stored["query"]),
            None if stored.get("keys") is None else tuple(map(str, stored["keys"])),
        )

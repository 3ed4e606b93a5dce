"""What a script asks for with `df.writeStream…start()`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame

from penstock.errors import DefinitionError, SourceLocation
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import UpdateKeys
from penstock.graph.rules.sinks import FILE_FORMATS

CHECKPOINT = "checkpointLocation"
_KEEPS_NOTHING = frozenset({"console", "memory", "noop"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamWrite:
    """One query before it starts, as the script wrote it or as the rules have changed it.

    `location` is the line that starts it, `dataset` what it fills, and `name` what Spark calls it. `options` can hold
    secrets. `trigger` holds the arguments of `trigger()`. `function` is that of `foreachBatch`, `per_row` that of
    `foreach`. `path` and `table` say where the rows go, if the format has such a place. With `keys` the rows of a batch
    take the place of those with the same keys in the Delta table at `path`.
    """

    frame: DataFrame
    location: SourceLocation
    format: str
    mode: str = "append"
    name: str = ""
    dataset: Identifier = field(default_factory=lambda: Identifier("", ""))
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    trigger: Mapping[str, Any] = field(default_factory=dict)
    partition_columns: tuple[str, ...] = ()
    cluster_columns: tuple[str, ...] = ()
    path: str | None = None
    table: str | None = None
    function: Callable[[DataFrame, int], None] | None = None
    per_row: Any = None
    keys: UpdateKeys | None = None

    def option(self, name: str) -> str | None:
        """Returns an option by its name in any case of letters, or None."""
        return next((value for key, value in self.options.items() if key.casefold() == name.casefold()), None)

    def with_options(self, **options: str) -> StreamWrite:
        """Returns the write with these options in place of its own of these names."""
        chosen = {name.casefold() for name in options}
        remaining = {key: value for key, value in self.options.items() if key.casefold() not in chosen}
        return replace(self, options={**remaining, **options})

    @property
    def checkpoint(self) -> str | None:
        """Where Spark keeps what the query has read; None for a temporary folder."""
        return self.option(CHECKPOINT)

    @property
    def is_delta(self) -> bool:
        """Whether the rows go to a Delta table."""
        return self.format.casefold() == "delta"

    @property
    def is_file_sink(self) -> bool:
        """Whether the rows go to files in a folder."""
        return self.table is None and self.format.casefold() in FILE_FORMATS

    @property
    def ends(self) -> bool:
        """Whether the query ends by itself when it has read what is there."""
        return bool(self.trigger.get("availableNow"))

    @property
    def keeps_nothing(self) -> bool:
        """Whether the sink is one to look at, which begins from scratch with each start."""
        return self.format.casefold() in _KEEPS_NOTHING

    @property
    def target(self) -> str:
        """What distinguishes this write from another: where its rows go."""
        place = self.table or self.path or self.option("topic") or self.name
        return f"{self.format.casefold()} {place}"

    def error(self, condition: str, **facts: object) -> DefinitionError:
        """Returns the condition at the line that starts the query."""
        return DefinitionError(condition, location=self.location, dataset=str(self.dataset), **facts)

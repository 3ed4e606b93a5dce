"""Which datasets an update refreshes."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import ConfigError, did_you_mean
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import ResolvedGraph


@dataclass(frozen=True, slots=True)
class RefreshSelection:
    """What `--refresh`, `--full-refresh` and `--full-refresh-all` asked for; names as typed.

    Nothing chosen means: refresh everything. A refresh takes new data in; a full refresh empties
    the table and computes it again from what its sources still have. A sink is not emptied: it gets
    all rows again.

    Raises:
        ConfigError: CONFLICTING_PIPELINE_REFRESH_OPTIONS when everything and something are chosen.
    """

    refresh: tuple[str, ...] = ()
    full_refresh: tuple[str, ...] = ()
    full_refresh_all: bool = False

    def __post_init__(self) -> None:
        if self.full_refresh_all and (self.refresh or self.full_refresh):
            raise ConfigError("CONFLICTING_PIPELINE_REFRESH_OPTIONS")

    def as_full_refresh(self) -> RefreshSelection:
        """Returns the same choice as a full refresh."""
        chosen = (*self.refresh, *self.full_refresh)
        return RefreshSelection(full_refresh=chosen, full_refresh_all=not chosen)

    def resolve(self, graph: ResolvedGraph, *, default_schema: str) -> ResolvedSelection:
        """Matches the names with the tables and sinks of `graph`.

        Raises:
            ConfigError: UNKNOWN_DATASET_SELECTED, with "did you mean".
        """
        full = self._match(self.full_refresh, graph, default_schema)
        if self.full_refresh_all:
            full = frozenset(graph.targets)
        chosen = full | self._match(self.refresh, graph, default_schema)
        everything = not (self.refresh or self.full_refresh)
        explicit = frozenset() if self.full_refresh_all else full
        return ResolvedSelection(frozenset(graph.targets) if everything else chosen, full, explicit)

    @staticmethod
    def _match(names: tuple[str, ...], graph: ResolvedGraph, default_schema: str) -> frozenset[Identifier]:
        found = set()
        for name in names:
            identifier = Identifier.parse(name, default_schema=default_schema)
            if identifier not in graph.targets:
                known = [text for target in graph.targets for text in (target.name, str(target))]
                listed = f"The pipeline's tables and sinks: {', '.join(sorted(map(str, graph.targets)))}."
                raise ConfigError(
                    "UNKNOWN_DATASET_SELECTED", name=name, suggestion=did_you_mean(name, known, also=listed)
                )
            found.add(identifier)
        return frozenset(found)


@dataclass(frozen=True, slots=True)
class ResolvedSelection:
    """The tables and sinks of an update: all that run, those fully refreshed, and those chosen for it by name."""

    refreshed: frozenset[Identifier]
    full_refreshed: frozenset[Identifier]
    full_refreshed_by_name: frozenset[Identifier]

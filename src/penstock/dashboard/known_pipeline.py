"""What a dashboard knows of a pipeline besides its storage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from penstock.config.sections.access import AccessSettings
from penstock.events.log.reads import ReadAudit
from penstock.graph.identifier import Identifier


@dataclass(frozen=True, slots=True)
class KnownPipeline:
    """What the pipeline file says; by default nothing, where only the storage is known.

    Attributes:
        settings: those of the page Checks, as `SettingsFacts.to_json` gives them.
        prices: the price file of the page Cost.
        audit: records who sees rows of tables; None: without a record.
        access: who has which role, and what a table without a grant is.
    """

    settings: Mapping[str, Any] | None = None
    prices: Path | None = None
    audit: ReadAudit | None = None
    access: AccessSettings = field(default_factory=AccessSettings)

    def to_json(self) -> dict[str, Any]:
        """Returns it for a dashboard in another process."""
        return {
            "settings": self.settings,
            "prices": None if self.prices is None else str(self.prices),
            "audit": None if self.audit is None else asdict(self.audit),
            "roles": {role: sorted(users) for role, users in self.access.roles.items()},
            "default_deny": self.access.default_deny,
            "event_table": None if self.access.event_table is None else str(self.access.event_table),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> KnownPipeline:
        """Reads what `to_json` returned."""
        prices, audit = document["prices"], document["audit"]
        roles = {role: frozenset(users) for role, users in document["roles"].items()}
        events = document["event_table"]
        return cls(
            document["settings"],
            Path(prices) if prices else None,
            ReadAudit(**audit) if audit else None,
            AccessSettings(roles, document["default_deny"], Identifier.recorded(events) if events else None),
        )

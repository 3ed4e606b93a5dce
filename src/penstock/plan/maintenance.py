"""Which tables are due to be looked after. A pure function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

from penstock.config import parse_interval
from penstock.errors import ConfigError
from penstock.graph.identifier import Identifier
from penstock.plan.stages import MaintainTable
from penstock.plan.state import CLUSTER_BY, TableState
from penstock.storage.maintenance_records import MaintenanceRecord

# Databricks' names and meanings.
_MANAGED: Final = "pipelines.autooptimize.managed"
_Z_ORDER: Final = "pipelines.autooptimize.zordercols"
_RETENTION: Final = "delta.deletedfileretentionduration"
_DELTAS_RETENTION: Final = 7 * 86_400.0
_DAY: Final = 86_400.0


def due_maintenance(
    tables: Mapping[Identifier, TableState],
    records: Mapping[str, MaintenanceRecord],
    *,
    now: float,
    interval: float,
) -> Iterator[MaintainTable]:
    """Yields what is due at the time `now`: tables that `interval` seconds have passed for, and that need it.

    A new table is first due that long after it was created. A table that does not change is looked after until the
    files that its last change made superfluous are old enough to go, and then left alone.
    """
    for identifier, table in tables.items():
        record = records.get(record_name(identifier))
        last = table.created_ms / 1000 if record is None else record.at
        unchanged = record is not None and record.version == table.version
        # A time to come was written when the clock was wrong, and may be years away.
        if 0 <= now - last < interval or (
            record is not None and unchanged and record.at - record.changed > retention(table) + _DAY
        ):
            continue
        since = datetime.fromtimestamp(last, UTC).strftime("%Y-%m-%d %H:%M UTC")
        word = "created" if record is None else "last looked after"
        yield maintenance_of(identifier, table, explanation=f"{word} {since}: small files and old files are looked for")


def maintenance_of(identifier: Identifier, table: TableState, *, explanation: str) -> MaintainTable:
    """Returns the step that looks after one table."""
    properties = {key.casefold(): value for key, value in table.properties.items()}
    columns = tuple(name.strip(" `") for name in properties.get(_Z_ORDER, "").split(",") if name.strip())
    return MaintainTable(
        dataset=identifier,
        explanation=explanation,
        path=table.path,
        version=table.version,
        generation=table.generation,
        retention=retention(table),
        optimize=properties.get(_MANAGED, "true").casefold() != "false",
        z_order=columns,
        clustered=table.properties.get(CLUSTER_BY, "[]") != "[]",
    )


def next_record(record: MaintenanceRecord | None, *, before: int, after: int, now: float) -> MaintenanceRecord:
    """Returns the record of a table that was looked after `now`, which took it from version `before` to `after`."""
    unchanged = record is not None and record.version == before
    return MaintenanceRecord(now, after, record.changed if record is not None and unchanged else now)


def record_name(identifier: Identifier) -> str:
    """Returns the name under which a table's record is kept."""
    return str(identifier).casefold()


def retention(table: TableState) -> float:
    """Returns how many seconds Delta keeps files that the newest version does not need."""
    properties = {key.casefold(): value for key, value in table.properties.items()}
    try:
        return parse_interval(properties[_RETENTION])
    except (KeyError, ConfigError):
        return _DELTAS_RETENTION

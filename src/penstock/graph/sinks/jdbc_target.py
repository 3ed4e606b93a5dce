"""What the options of a `jdbc` sink say: which table of which database, and how rows get there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from penstock.graph.elements import FormatSink

JdbcMode = Literal["append", "upsert"]

POSTGRESQL: Final = "jdbc:postgresql:"
OWN_OPTIONS: Final = ("mode", "keys", "sequenceBy", "stagingSchema", "lockTimeout")
"""Options that are Penstock's; all others go to Spark's JDBC writer, and from there to the driver."""

SPARK_OPTIONS: Final = (
    *("url", "dbtable", "user", "password", "driver", "batchsize", "numPartitions", "queryTimeout"),
    *("connectionProvider", "keytab", "principal", "refreshKrb5Config"),
)
"""Options of Spark's JDBC writer that a sink passes on."""

DEFAULT_LOCK_SECONDS: Final = 30

_PART = re.compile(r'"((?:[^"]|"")+)"|([A-Za-z_\u0080-\uffff][\w$]*)')


@dataclass(frozen=True, slots=True)
class TableName:
    """A table of PostgreSQL; without a schema it is looked for on the user's `search_path`."""

    schema: str | None
    name: str

    @classmethod
    def parse(cls, text: str) -> TableName | None:
        """Reads `name` or `schema.name` as PostgreSQL does: without quotes in lower case; None if it is neither."""
        parts, position = [], 0
        text = text.strip()
        while (found := _PART.match(text, position)) is not None:
            parts.append(found[1].replace('""', '"') if found[1] else found[2].lower())
            if (position := found.end()) == len(text):
                break
            if text[position] != ".":
                return None
            position += 1
        if position != len(text) or not 1 <= len(parts) <= 2 or text.endswith("."):
            return None
        return cls(parts[0] if len(parts) == 2 else None, parts[-1])

    def __str__(self) -> str:
        return self.name if self.schema is None else f"{self.schema}.{self.name}"

    @property
    def sql(self) -> str:
        """The name in SQL."""
        return ".".join(in_quotes(part) for part in (self.schema, self.name) if part is not None)


@dataclass(frozen=True, slots=True)
class JdbcTarget:
    """Where the rows of a `jdbc` sink go, of options that are right.

    `keys` are empty for `append`. `sequence_by` is the column by which the newest row of a key is known.
    `staging_schema` holds the ledger and the staging tables; None: the schema of the table.
    """

    table: TableName
    mode: JdbcMode
    keys: tuple[str, ...]
    sequence_by: str | None
    staging_schema: str | None
    lock_seconds: int

    @classmethod
    def of(cls, sink: FormatSink) -> JdbcTarget:
        """Reads the options of a sink that `problems_of_options` has nothing to say about."""
        table = TableName.parse(sink.option("dbtable") or "")
        assert table is not None, "the rules refuse other names"
        return cls(
            table=table,
            mode="upsert" if _mode(sink) == "upsert" else "append",
            keys=columns_of(sink.option("keys")),
            sequence_by=sink.option("sequenceBy"),
            staging_schema=sink.option("stagingSchema"),
            lock_seconds=int(sink.option("lockTimeout") or DEFAULT_LOCK_SECONDS),
        )

    @property
    def promise(self) -> str:
        """What becomes of a row, in words."""
        how = "append" if self.mode == "append" else f"upsert by {', '.join(self.keys)}"
        newest = f", the newest by {self.sequence_by}" if self.sequence_by else ""
        return f"exactly once: {how}{newest} into {self.table}"


def connection_options(options: Mapping[str, str]) -> dict[str, str]:
    """Returns the options that are Spark's and the driver's."""
    own = {name.casefold() for name in (*OWN_OPTIONS, "dbtable")}
    return {name: value for name, value in options.items() if name.casefold() not in own}


def columns_of(text: str | None) -> tuple[str, ...]:
    """Returns the names in a list with commas."""
    return tuple(name for name in (part.strip() for part in (text or "").split(",")) if name)


def in_quotes(name: str) -> str:
    """Returns a name as SQL takes it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def _mode(sink: FormatSink) -> str:
    return (sink.option("mode") or "append").strip().casefold()

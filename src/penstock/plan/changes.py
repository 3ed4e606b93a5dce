"""How the declaration of an existing table differs from what is stored. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.graph.elements import TYPE_WIDENING, MaterializedView, StreamingTable
from penstock.graph.schema.table_schema import Column, Schema
from penstock.graph.schema.type_changes import fits, widens
from penstock.plan.state import CLUSTER_BY, TableState


@dataclass(frozen=True, slots=True)
class TableChanges:
    """What `ALTER TABLE` brings up to date, in the order of execution; None and empty mean: nothing.

    `columns` are added, `widened` get a wider type, `comments` are those of columns; each names a
    column with the type or the text. `nullable` columns are NOT NULL no longer. `cluster_by` () ends the clustering.
    """

    columns: Mapping[str, tuple[str, str | None]]
    widened: Mapping[str, str]
    comments: Mapping[str, str]
    nullable: tuple[str, ...]
    comment: str | None
    cluster_by: tuple[str, ...] | None
    properties: Mapping[str, str]

    def __bool__(self) -> bool:
        return any((self.columns, self.widened, self.comments, self.nullable, self.properties)) or not (
            self.comment is None and self.cluster_by is None
        )

    def describe(self) -> str:
        """Returns the changes in words."""
        return "; ".join(self._words())

    def _words(self) -> Iterator[str]:
        if self.columns:
            yield f"new columns: {', '.join(f'{name} {kind}' for name, (kind, _) in self.columns.items())}"
        if self.widened:
            yield f"wider types: {', '.join(f'{name} {kind}' for name, kind in self.widened.items())}"
        if self.comments:
            yield f"comments of columns: {', '.join(self.comments)}"
        if self.nullable:
            yield f"no longer NOT NULL: {', '.join(self.nullable)}"
        if self.comment is not None:
            yield "comment"
        if self.cluster_by is not None:
            yield f"clustered by {', '.join(self.cluster_by)}" if self.cluster_by else "no longer clustered"
        if shown := sorted(name for name in self.properties if name != CLUSTER_BY):
            yield f"changed properties: {', '.join(shown)}"


@dataclass(frozen=True, slots=True)
class TableComparison:
    """One existing table beside its declaration.

    `command` is the full refresh that computes it, and what streams from it, again.
    """

    table: StreamingTable | MaterializedView
    existing: TableState
    wanted: Schema
    properties: Mapping[str, str]
    command: Callable[[], str]

    def changes(self) -> TableChanges:
        """Returns what can be changed without touching a row.

        Raises:
            StateError: COLUMN_TYPE_CHANGED, COLUMN_CONSTRAINT_CHANGED, PARTITIONING_CHANGED.
        """
        clustering = self._clustering()
        changed = {name: value for name, value in self.properties.items() if self._property(name) != value}
        if clustering is not None:
            changed[CLUSTER_BY] = json.dumps(clustering)
        refreshed = isinstance(self.table, MaterializedView)
        if not refreshed:
            self._check_partitioning()
            self._check_constraints()
        comment = self.table.comment or ""
        return TableChanges(
            # A refresh replaces the columns of a materialized view together with its rows.
            columns={} if refreshed else dict(self._new_columns()),
            widened={} if refreshed else dict(self._widened()),
            comments={} if refreshed and not self.wanted.constrained else dict(self._column_comments()),
            nullable=() if refreshed else tuple(self._released()),
            comment=comment if comment != (self.existing.comment or "") else None,
            cluster_by=clustering,
            properties=changed,
        )

    def unfilled(self) -> tuple[str, ...]:
        """Returns the stored columns that no query fills any more."""
        if isinstance(self.table, MaterializedView):
            return ()
        wanted = {name.casefold() for name in self.wanted.names}
        return tuple(name for name in self.existing.schema.names if name.casefold() not in wanted)

    def other_partitioning(self) -> bool:
        """Whether the rows are laid out by other columns than declared, which only a rewrite can change."""
        return [name.casefold() for name in self.existing.partition_columns] != [
            name.casefold() for name in self.table.partition_columns
        ]

    def needs_new_table(self) -> str | None:
        """Returns why the refresh of a materialized view cannot bring the table to its declaration, None when it can.

        An overwrite replaces columns, but loses what Delta enforces or computes.
        """
        if self.other_partitioning():
            return "it is partitioned by other columns now"
        if self.wanted.constrained and _shapes(self.wanted) != _shapes(self.existing.schema):
            return "its declared columns have changed"
        return None

    def _check_constraints(self) -> None:
        stored = {column.name.casefold(): column for column in self.existing.schema.columns}
        for column in self.wanted.columns:
            before = stored.get(column.name.casefold(), Column(column.name, column.type))
            if (column.nullable or not before.nullable) and column.generated == before.generated:
                continue
            raise self.table.refusal(
                "COLUMN_CONSTRAINT_CHANGED", column=column.name, wanted=_constraint(column), command=self.command()
            )

    def _released(self) -> Iterator[str]:
        required = {column.name.casefold() for column in self.wanted.columns if not column.nullable}
        for column in self.existing.schema.columns:
            if not column.nullable and column.name.casefold() not in required:
                yield column.name

    def _property(self, name: str) -> str | None:
        return self.existing.properties.get(name)

    def _check_partitioning(self) -> None:
        if self.other_partitioning():
            raise self.table.refusal(
                "PARTITIONING_CHANGED",
                stored=", ".join(self.existing.partition_columns) or "no column",
                wanted=", ".join(self.table.partition_columns) or "no column",
                command=self.command(),
            )

    def _clustering(self) -> tuple[str, ...] | None:
        stored = self._property(CLUSTER_BY)
        before = () if stored is None else tuple(json.loads(stored))
        return None if before == self.table.cluster_by else self.table.cluster_by

    def _new_columns(self) -> Iterator[tuple[str, tuple[str, str | None]]]:
        known = {name.casefold() for name in self.existing.schema.names}
        for column in self.wanted.columns:
            if column.name.casefold() not in known and column.type != "void":
                yield column.name, (column.type, column.comment)

    def _widened(self) -> Iterator[tuple[str, str]]:
        stored = {field["name"].casefold(): field for field in self.existing.schema.fields}
        for field, column in zip(self.wanted.fields, self.wanted.columns, strict=True):
            before = stored.get(field["name"].casefold())
            if before is None or fits(field["type"], before["type"]):
                continue
            if widens(before["type"], field["type"]) and self._may_widen():
                yield before["name"], column.type
                continue
            raise self.table.refusal(
                "COLUMN_TYPE_CHANGED",
                column=before["name"],
                stored=_shown(before),
                wanted=column.type,
                way_out=self._way_out(before["type"], field["type"]),
                command=self.command(),
            )

    def _may_widen(self) -> bool:
        return str(self.table.table_properties.get(TYPE_WIDENING, "false")).casefold() == "true"

    def _way_out(self, before: Any, wanted: Any) -> str:
        if not widens(before, wanted) or self._may_widen():
            return ""
        return f"set table_properties={{'{TYPE_WIDENING}': 'true'}}, "

    def _column_comments(self) -> Iterator[tuple[str, str]]:
        stored = {column.name.casefold(): column for column in self.existing.schema.columns}
        for column in self.wanted.columns:
            before = stored.get(column.name.casefold())
            if before is not None and column.comment is not None and column.comment != before.comment:
                yield before.name, column.comment


def _shapes(schema: Schema) -> list[tuple[str, str, bool, str | None]]:
    return [(column.name.casefold(), column.type, column.nullable, column.generated) for column in schema.columns]


def _constraint(column: Column) -> str:
    words = [] if column.nullable else ["NOT NULL"]
    if column.generated is not None:
        words.append("an identity" if column.generated == "identity" else f"generated as {column.generated}")
    return " and ".join(words) or "a plain column"


def _shown(field: Mapping[str, Any]) -> str:
    return Schema(json.dumps({"fields": [field]})).columns[0].type

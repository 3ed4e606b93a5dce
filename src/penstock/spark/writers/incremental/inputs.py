"""The Delta tables that a materialized view reads: as they are now, and what has changed since its last refresh."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deltalake.exceptions import DeltaError
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.spark import _jvm
from penstock.spark.accelerators.table_changes import at_snapshot, changed_between, newest_snapshot, size_of
from penstock.spark.writers.incremental.plans import new_attribute, under
from penstock.spark.writers.incremental.shape import Node, Operator, node_of
from penstock.storage import local_path
from penstock.storage.delta.changes import TableChange, change_between
from penstock.storage.delta.commits import CommitOutOfReach

_WEIGHT = "_penstock_weight"
_UNREADABLE = (PenstockError, DeltaError, CommitOutOfReach, OSError, ValueError, KeyError)


class NotKnown(Exception):
    """What has changed in a table cannot be told; the text says why."""


@dataclass(frozen=True, slots=True)
class _Table:
    """A table at its newest version, its name in a `RefreshRecord`, and the version that the last refresh read."""

    name: str
    path: str
    snapshot: Any
    before: int | None

    @property
    def version(self) -> str:
        return f"{self.snapshot.metadata().id()}@{self.snapshot.version()}"


@dataclass(slots=True)
class VersionedInputs:
    """`Inputs` at the newest versions, which stay the same for as long as this object is used."""

    spark: SparkSession
    weight: Any
    _paths: dict[Node, str] = field(default_factory=dict)  # asking Java is slow, and each operator above asks
    _tables: dict[str, _Table] = field(default_factory=dict)
    _changes: dict[str, TableChange] = field(default_factory=dict)

    @classmethod
    def of(
        cls, spark: SparkSession, query: Node, names: Mapping[str, str], last: Mapping[str, str] | None
    ) -> VersionedInputs:
        """Looks up the tables of a query. `names` are their names by path, `last` the versions of the last refresh.

        Raises:
            NotKnown: a table is not among `names`.
        """
        weight = new_attribute(spark, _WEIGHT, _jvm.jvm(spark).org.apache.spark.sql.types.DataTypes.LongType)
        inputs = cls(spark, weight)
        known = {_comparable(path): name for path, name in names.items()}
        for node in query.walk():
            if node.operator is not Operator.TABLE:
                continue
            path = inputs._path(node)
            name = known.get(_comparable(path))
            if name is None:
                raise NotKnown(f"the version of {path} is not recorded")
            if path not in inputs._tables:
                snapshot = newest_snapshot(spark, _jvm.file_index(node.plan))
                before = _version_of((last or {}).get(name), str(snapshot.metadata().id()), int(snapshot.version()))
                inputs._tables[path] = _Table(name, path, snapshot, before)
        return inputs

    @property
    def versions(self) -> dict[str, str]:
        """The versions of this refresh, for its record."""
        return {table.name: table.version for table in self._tables.values()}

    def look(self) -> None:
        """Reads from the logs how much has changed.

        Raises:
            NotKnown: a table is another one than at the last refresh, or its log does not reach back.
        """
        for path, table in self._tables.items():
            if table.before is None:
                raise NotKnown(f"{table.name} is not the table of the last refresh")
            try:
                self._changes[path] = change_between(path, table.before, int(table.snapshot.version()))
            except _UNREADABLE as error:
                raise NotKnown(f"the log of {table.name} does not say what has changed: {error}") from error

    @property
    def changed_share(self) -> float:
        """How much of the bytes of the tables that have changed was added or removed."""
        sizes = [size_of(self._tables[path].snapshot) for path, change in self._changes.items() if change]
        return self.changed_size / max(sum(sizes), 1)

    @property
    def size(self) -> int:
        """The bytes of all tables: what a full refresh reads."""
        return sum(size_of(table.snapshot) for table in self._tables.values())

    @property
    def changed_size(self) -> int:
        """The bytes of what was added and removed."""
        return sum(change.added + change.removed for change in self._changes.values())

    @property
    def unchanged_size(self) -> int:
        """The bytes of the tables that are as they were."""
        unchanged = (table for path, table in self._tables.items() if not self._changes[path])
        return sum(size_of(table.snapshot) for table in unchanged)

    @property
    def removes(self) -> bool:
        """Whether rows were removed from a table, or changed."""
        return any(change.removes for change in self._changes.values())

    def _path(self, node: Node) -> str:
        if node not in self._paths:
            self._paths[node] = _path(node)
        return self._paths[node]

    def changed(self, node: Node) -> bool:
        """Whether rows of a TABLE were added or removed since the last refresh."""
        return bool(self._changes[self._path(node)])

    def now(self, node: Node) -> Any:
        """Returns the plan of a TABLE as it is now, with the attributes of its node."""
        return at_snapshot(self.spark, node.plan, self._tables[self._path(node)].snapshot)

    def pinned(self, plan: Any) -> Any:
        """Returns a plan with each table as it is now, and all else as it is."""
        if plan.children().isEmpty():
            leaf = node_of(plan)
            return self.now(leaf) if leaf.operator is Operator.TABLE else plan
        return _jvm.with_children(self.spark, plan, [self.pinned(each) for each in _jvm.scala_seq(plan.children())])

    def change(self, node: Node) -> Any:
        """Returns the plan of what has changed in a TABLE, with the attributes of its node and the weight."""
        table = self._tables[self._path(node)]
        assert table.before is not None, "`look` has been called"
        rows = changed_between(
            self.spark, _jvm.file_index(node.plan), table.before, int(table.snapshot.version()), _WEIGHT
        )
        plan = _jvm.analyzed_plan(rows)
        given = {str(each.name()).casefold(): each for each in _jvm.scala_seq(plan.output())}
        wanted = [*_jvm.scala_seq(node.plan.output()), self.weight]
        return under(self.spark, plan, [given[str(each.name()).casefold()] for each in wanted], wanted)


def _version_of(noted: str | None, identity: str, newest: int) -> int | None:
    """Returns the version in what a refresh noted, None when that is of another table or of none."""
    table, _, version = (noted or "").rpartition("@")
    return int(version) if table == identity and version.isdigit() and int(version) <= newest else None


def _path(node: Node) -> str:
    index = _jvm.file_index(node.plan)
    assert index is not None, "a table is a relation of files"
    return re.sub(r"^file:/*", "/", str(index.path().toString()))


def _comparable(path: str) -> str:
    return local_path(path).rstrip("/")

"""Reads by name from outside of the pipeline: protected tables through their enforcing view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from penstock.errors import StateError
from penstock.graph.identifier import Identifier
from penstock.graph.protection import Protection, stored_protection
from penstock.runtime.storage_state.catalog import stored_table
from penstock.spark.delta.protection import protect
from penstock.spark.evaluation import Evaluation
from penstock.spark.failures.translate import reason_of
from penstock.storage import StorageLayout
from penstock.storage.delta_table import open_delta_table


@dataclass(frozen=True, slots=True)
class ReaderCatalog:
    """Answers reads with the tables of the storage, and with those that lie `elsewhere`, looked up once.

    `define_functions` makes the functions known that filters and masks call; it is called before the
    first protected table is read.
    """

    layout: StorageLayout
    default_schema: str
    define_functions: Callable[[], None]
    elsewhere: Callable[[], Mapping[Identifier, str]] = dict

    def find(self, name: str) -> Identifier | None:
        """Returns the protected table of that name; others are left to `stored`."""
        identifier = Identifier.parse(name, default_schema=self.default_schema)
        path = self._place(identifier)
        return identifier if path is not None and _protection(identifier, path) is not None else None

    def stored(self, name: str) -> str | None:
        """Returns the path of an open table."""
        return self._place(Identifier.parse(name, default_schema=self.default_schema))

    def _place(self, identifier: Identifier) -> str | None:
        return self.elsewhere().get(identifier) or stored_table(self.layout, identifier)

    def open(
        self, identifier: Identifier, evaluation: Evaluation, *, streaming: bool, options: Mapping[str, str]
    ) -> DataFrame:
        """Returns the enforcing view of a protected table.

        Raises:
            StateError: TABLE_PROTECTION_FAILED when it cannot be enforced.
        """
        path = self._place(identifier)
        assert path is not None, "find() says so"
        protection = _protection(identifier, path)
        assert protection is not None, "find() says so"
        self.define_functions()
        reader = evaluation.spark.readStream if streaming else evaluation.spark.read
        frame = reader.format("delta").options(**options).load(path)
        try:
            return protect(frame, protection)
        except PySparkException as error:
            raise StateError(
                "TABLE_PROTECTION_FAILED", dataset=str(identifier), name=identifier, reason=reason_of(error)
            ) from error


def _protection(identifier: Identifier, path: str) -> Protection | None:
    try:
        return stored_protection(open_delta_table(path).metadata().configuration)
    except ValueError as error:
        raise StateError("TABLE_PROTECTION_FAILED", dataset=str(identifier), name=identifier, reason=error) from error

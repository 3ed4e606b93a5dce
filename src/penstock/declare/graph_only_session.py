"""The `spark` of pipeline files when a command reads the graph without starting Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from penstock.errors import DefinitionError

_MISSING = object()


class GraphOnlyConf:
    """`spark.conf` without a session: the pipeline's `configuration`, and what its files set."""

    def __init__(self, configuration: Mapping[str, str]) -> None:
        self._values = dict(configuration)

    def get(self, key: str, default: object = _MISSING) -> object:
        """Returns a value of the configuration.

        Raises:
            DefinitionError: SQL_CONF_NOT_FOUND without a default.
        """
        if key in self._values:
            return self._values[key]
        if default is _MISSING:
            raise DefinitionError("SQL_CONF_NOT_FOUND", key=key)
        return default

    def set(self, key: str, value: str | bool | int) -> None:
        """Sets a value for the rest of this load."""
        self._values[key] = str(value).lower() if isinstance(value, bool) else str(value)

    def unset(self, key: str) -> None:
        """Removes a value for the rest of this load."""
        self._values.pop(key, None)


class GraphOnlySession:
    """Answers `spark.conf`; everything else needs a session and raises DefinitionError SPARK_NOT_STARTED."""

    def __init__(self, configuration: Mapping[str, str]) -> None:
        self.conf = GraphOnlyConf(configuration)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise DefinitionError("SPARK_NOT_STARTED", attribute=name)

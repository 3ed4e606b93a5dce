"""`dbutils.widgets`: parameters of the pipeline under their other name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.declare.dbutils.refusing import Refusing
from penstock.errors import DefinitionError


class Widgets(Refusing):
    """Answers a widget with, in this order: the parameters of `%run`, `configuration`, the widget's own default."""

    name = "dbutils.widgets"
    alternative = "Read the parameter with dbutils.widgets.get(name)"

    def __init__(self, conf: Any) -> None:
        self._conf = conf
        self._defaults: dict[str, str] = {}
        self._given: dict[str, str] = {}

    def give(self, parameters: Mapping[str, str]) -> None:
        """Takes the parameters of a `%run`; they hold from then on, as on Databricks."""
        self._given.update(parameters)

    def get(self, name: str) -> str:
        """Returns the value of a widget.

        Raises:
            DefinitionError: SQL_CONF_NOT_FOUND.
        """
        value = self._given.get(name, self._conf.get(name, None))
        if value is None:
            value = self._defaults.get(name)
        if value is None:
            raise DefinitionError("SQL_CONF_NOT_FOUND", key=name)
        return str(value)

    def getArgument(self, name: str, default: str | None = None) -> str:
        """Returns the value of a widget, or `default`; raises as `get` without one."""
        try:
            return self.get(name)
        except DefinitionError:
            if default is None:
                raise
            return default

    def getAll(self) -> dict[str, str]:
        """Returns the values of all widgets that were declared, and of the parameters of `%run`."""
        return {name: self.get(name) for name in (*self._defaults, *self._given)}

    def text(self, name: str, defaultValue: str = "", label: str | None = None) -> None:
        """Declares a widget with its default value; it is shown nowhere."""
        self._defaults[name] = str(defaultValue)

    def dropdown(self, name: str, defaultValue: str, choices: Sequence[str], label: str | None = None) -> None:
        """Declares a widget with its default value; another value than the `choices` is taken as well."""
        self._defaults[name] = str(defaultValue)

    combobox = multiselect = dropdown

    def remove(self, name: str) -> None:
        """Forgets a widget's default value."""
        self._defaults.pop(name, None)

    def removeAll(self) -> None:
        """Forgets all default values."""
        self._defaults.clear()

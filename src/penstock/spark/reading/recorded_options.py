"""The options of a reader: recorded here, because PySpark keeps them only on the Java side."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrameReader
from pyspark.sql.streaming.readwriter import DataStreamReader


def recorded_options(reader: DataStreamReader | DataFrameReader) -> dict[str, Any]:
    """Returns what was said to this reader so far: `format`, `options` as texts, `schema` and `name` of the source."""
    record: dict[str, Any] = reader.__dict__.setdefault(
        "_penstock", {"format": "", "options": {}, "schema": None, "name": None}
    )
    return record


def remember_source(owner: Any, *methods: str) -> None:
    """Hooks those of `format`, `schema` and `name` that a class of readers has."""
    for method in methods:
        _remember(owner, method)


def _remember(owner: Any, method: str) -> None:
    original = getattr(owner, method)

    @functools.wraps(original)
    def hooked(self: Any, *argument: Any, **named: Any) -> Any:
        (recorded_options(self)[method],) = (*argument, *named.values())
        return original(self, *argument, **named)

    setattr(owner, method, hooked)


def remember_options(owner: Any, mapped: Callable[[str, Any], Any]) -> None:
    """Hooks `option` and `options` of a class of readers; `mapped` gives the value that takes a given one's place."""
    option, options = owner.option, owner.options

    @functools.wraps(option)
    def hooked_option(self: Any, key: str, value: Any) -> Any:
        value = mapped(key, value)
        _remember_option(self, key, value)
        return option(self, key, value)

    @functools.wraps(options)
    def hooked_options(self: Any, **values: Any) -> Any:
        values = {key: mapped(key, value) for key, value in values.items()}
        for key, value in values.items():
            _remember_option(self, key, value)
        return options(self, **values)

    owner.option = hooked_option
    owner.options = hooked_options


def _remember_option(reader: DataStreamReader | DataFrameReader, key: str, value: Any) -> None:
    if value is not None:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        recorded_options(reader)["options"][key] = text


def remember_arguments(reader: DataStreamReader, arguments: Mapping[str, Any]) -> None:
    """Remembers with what a method such as `json(path, multiLine=True)` was called: a schema, and options."""
    for name, value in arguments.items():
        if name == "schema":
            recorded_options(reader)["schema"] = value
        elif name not in {"self", "path"}:
            _remember_option(reader, name, value)


def apply_load_arguments(
    reader: DataStreamReader | DataFrameReader, positional: tuple[Any, ...], named: dict[str, Any]
) -> None:
    """Applies to the reader what `load(path, format, schema, **options)` is given beside the path."""
    for argument, value in zip(("format", "schema"), positional, strict=False):
        named.setdefault(argument, value)
    if (source := named.pop("format", None)) is not None:
        reader.format(source)
    if (schema := named.pop("schema", None)) is not None:
        reader.schema(schema)
    reader.options(**named)


def named_source(reader: DataStreamReader, name: str | None) -> DataStreamReader:
    """Gives the source that is read next its name in the checkpoint; None leaves it without one."""
    return reader if name is None else reader.name(name)

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


def hook(owner: type, method: str, hooked: Callable[..., Any]) -> None:
    """Has `hooked` called in the place of a method, with the original before the arguments of the call."""
    original = getattr(owner, method)

    @functools.wraps(original)
    def call(*arguments: Any, **named: Any) -> Any:
        return hooked(original, *arguments, **named)

    setattr(owner, method, call)


def remember_source(owner: type, *methods: str) -> None:
    """Hooks those of `format`, `schema` and `name` that a class of readers has."""
    for method in methods:
        hook(owner, method, functools.partial(_remember, method))


def _remember(method: str, original: Callable[..., Any], self: Any, /, *argument: Any, **named: Any) -> Any:
    (recorded_options(self)[method],) = (*argument, *named.values())
    return original(self, *argument, **named)


def remember_options(owner: type, mapped: Callable[[str, Any], Any]) -> None:
    """Hooks `option` and `options` of a class of readers; `mapped` gives the value that takes a given one's place."""

    def option(original: Callable[..., Any], self: Any, /, key: str, value: Any) -> Any:
        value = mapped(key, value)
        _remember_option(self, key, value)
        return original(self, key, value)

    def options(original: Callable[..., Any], self: Any, /, **values: Any) -> Any:
        values = {key: mapped(key, value) for key, value in values.items()}
        for key, value in values.items():
            _remember_option(self, key, value)
        return original(self, **values)

    hook(owner, "option", option)
    hook(owner, "options", options)


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

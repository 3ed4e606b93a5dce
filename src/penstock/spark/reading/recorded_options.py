"""The options of a reader or writer: recorded here, because PySpark keeps them only on the Java side."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrameReader
from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

from penstock.spark.reading.method_hooks import hook

Recorded = DataStreamReader | DataFrameReader | DataStreamWriter


def recorded_options(recorded: Recorded) -> dict[str, Any]:
    """Returns what was said to this reader so far: `format`, `options` as texts, `schema` and `name` of the source.

    Of a writer it is `format`, `options` and what else its hooks remember.
    """
    record: dict[str, Any] = recorded.__dict__.setdefault(
        "_penstock", {"format": "", "options": {}, "schema": None, "name": None}
    )
    return record


def remember_calls(owner: type, *methods: str) -> None:
    """Hooks methods of one argument, such as `format`: it is recorded under the method's name."""
    for method in methods:
        hook(owner, method, functools.partial(_remember, method))


def _remember(method: str, original: Callable[..., Any], self: Any, /, *argument: Any, **named: Any) -> Any:
    (recorded_options(self)[method],) = (*argument, *named.values())
    return original(self, *argument, **named)


def remember_options(owner: type, mapped: Callable[[str, Any], Any]) -> None:
    """Hooks `option` and `options`; `mapped` gives the value that takes a given one's place."""

    def option(original: Callable[..., Any], self: Any, /, key: str, value: Any) -> Any:
        value = mapped(key, value)
        remember_option(self, key, value)
        return original(self, key, value)

    def options(original: Callable[..., Any], self: Any, /, **values: Any) -> Any:
        values = {key: mapped(key, value) for key, value in values.items()}
        for key, value in values.items():
            remember_option(self, key, value)
        return original(self, **values)

    hook(owner, "option", option)
    hook(owner, "options", options)


def remember_option(recorded: Recorded, key: str, value: Any) -> None:
    """Records an option as Spark's text of it; None is no value."""
    if value is not None:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        recorded_options(recorded)["options"][key] = text


def remember_arguments(reader: DataStreamReader, arguments: Mapping[str, Any]) -> None:
    """Remembers with what a method such as `json(path, multiLine=True)` was called: a schema, and options."""
    for name, value in arguments.items():
        if name == "schema":
            recorded_options(reader)["schema"] = value
        elif name not in {"self", "path"}:
            remember_option(reader, name, value)


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

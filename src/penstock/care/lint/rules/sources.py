"""What is read, from where on, and how much at once."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock.care.lint.constants import GAP
from penstock.care.lint.finding import Check, Found
from penstock.care.lint.frames import Frame, Origin, Step
from penstock.care.lint.queries import FILE_FORMATS, known_options, option_of
from penstock.care.lint.script import Script
from penstock.errors.secret_names import is_secret

_LOADS: Final = {"load", "table", *FILE_FORMATS}
_TRUE: Final = {"true", True}
_FALSE: Final = {"false", False}
_FIXED_SCHEMA: Final = {"binaryfile", "text"}
"""Formats of Auto Loader that have the same columns always."""
_MOUNT: Final = re.compile(r"(?:dbfs:|/dbfs)?/mnt/")


@dataclass(frozen=True, slots=True)
class _Read:
    """A stream that is read: its format in lower case, its steps and the call that loads it."""

    format: str
    steps: tuple[Step, ...]
    load: Step

    @property
    def known(self) -> bool:
        return known_options(self.steps)


def _reads(script: Script) -> Iterator[_Read]:
    for frame, step in script.frames.used:
        if frame.origin is Origin.STREAM and step.name in _LOADS and step.call is not None and _is_reader(frame):
            chosen = frame.step("format")
            text = step.name if chosen is None else script.constants.text(chosen.argument(0, "source"))
            if text is not None and text != "load":
                yield _Read(text.casefold(), (*frame.steps, step), step)


def _is_reader(frame: Frame) -> bool:
    return frame.steps[0].name == "readStream" and frame.step("writeStream", *_LOADS) is None


def _latest(script: Script) -> Iterator[Found]:
    for read in _reads(script):
        node = option_of(read.steps, "startingOffsets", script.constants)
        if read.format == "kafka" and script.constants.of(node) == "latest":
            yield script.found(node or read.load.node, "a Kafka stream that starts at `latest`")


def _loss(script: Script) -> Iterator[Found]:
    for read in _reads(script):
        node = option_of(read.steps, "failOnDataLoss", script.constants)
        if node is not None and script.constants.of(node) in _FALSE and read.format not in FILE_FORMATS:
            yield script.found(node, "`failOnDataLoss` is false")


def _group(script: Script) -> Iterator[Found]:
    for read in _reads(script):
        node = option_of(read.steps, "kafka.group.id", script.constants)
        if node is not None:
            yield script.found(node, "`kafka.group.id` is set")


def _inferred(script: Script) -> Iterator[Found]:
    setting = script.conf("spark.sql.streaming.schemaInference")
    if setting is not None and script.constants.of(setting) in _TRUE:
        yield script.found(setting, "`spark.sql.streaming.schemaInference` is on")
    for read in _reads(script):
        node = option_of(read.steps, "inferSchema", script.constants)
        value = script.constants.of(node)
        inferred = value is True or (isinstance(value, str) and value.casefold() == "true")
        given = any(step.name == "schema" for step in read.steps)
        if node is not None and inferred and not given and read.format in FILE_FORMATS:
            yield script.found(node, "a stream of files with `inferSchema`")


def _no_place(script: Script) -> Iterator[Found]:
    for read in _reads(script):
        given = option_of(read.steps, "cloudFiles.schemaLocation", script.constants)
        of_files = script.constants.of(option_of(read.steps, "cloudFiles.format", script.constants))
        fixed = isinstance(of_files, str) and of_files.casefold() in _FIXED_SCHEMA
        schema = fixed or any(step.name == "schema" for step in read.steps)
        if read.format != "cloudfiles" or given is not None or schema or not read.known:
            continue
        if not script.in_dataset(read.load.node):
            evidence = "Auto Loader without a schema and without `cloudFiles.schemaLocation`"
            yield script.found(read.load.node, evidence)


def _one_place(script: Script) -> Iterator[Found]:
    first: dict[str, _Read] = {}
    for read in _reads(script):
        place = script.constants.text(option_of(read.steps, "cloudFiles.schemaLocation", script.constants))
        if read.format != "cloudfiles" or place is None or GAP in place:
            continue
        other = first.setdefault(place.rstrip("/"), read)
        if other is not read and _path(other) != _path(read):
            evidence = f"`{place}` is also that of the stream in line {script.line(other.load.node)}"
            yield script.found(read.load.node, evidence)


def _path(read: _Read) -> str:
    return "" if not read.load.arguments else ast.unparse(read.load.arguments[0])


def _unbounded(script: Script) -> Iterator[Found]:
    for read in _reads(script):
        if not read.known:
            continue
        if read.format == "kafka":
            begins = script.constants.of(option_of(read.steps, "startingOffsets", script.constants)) == "earliest"
            limit = "maxOffsetsPerTrigger"
        else:
            begins, limit = read.format in FILE_FORMATS, "maxFilesPerTrigger"
        limits = [limit, "maxBytesPerTrigger"]
        if begins and all(option_of(read.steps, name, script.constants) is None for name in limits):
            yield script.found(read.load.node, f"a {read.format} stream from its beginning without `{limit}`")


def _mounts(script: Script) -> Iterator[Found]:
    for _frame, step in script.frames.used:
        if step.call is None:
            continue
        for node in [*step.arguments, *(each.value for each in step.call.keywords)]:
            text = script.constants.text(node)
            if text is not None and is_mount(text):
                yield script.found(node, f"`{text.replace(GAP, '…')}`")


def _secrets(script: Script) -> Iterator[Found]:
    for call in script.calls("option", "set", "config"):
        match call.args:
            case [key, value, *_]:
                name, text = script.constants.of(key), script.constants.of(value)
                if isinstance(name, str) and isinstance(text, str) and is_secret(name, text):
                    yield script.found(value, f"the value of `{name}` stands in the code")


def is_mount(path: str) -> bool:
    """Returns whether a path is below a mount of Databricks."""
    return _MOUNT.match(path) is not None


CHECKS: Final[dict[str, Check]] = {
    "kafka-starts-latest": _latest,
    "data-loss-ignored": _loss,
    "kafka-group-fixed": _group,
    "schema-inferred": _inferred,
    "schema-location-missing": _no_place,
    "schema-location-shared": _one_place,
    "first-batch-unbounded": _unbounded,
    "mount-path": _mounts,
    "secret-in-clear": _secrets,
}

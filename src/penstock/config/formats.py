"""Reads a pipeline file of any format into the one table of settings that the rest of the package knows."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import assert_never

from ruamel.yaml.nodes import MappingNode, Node

from penstock.config.databricks.bundle import Bundle
from penstock.config.databricks.keys import DATABRICKS
from penstock.config.files.document import pairs, read_document
from penstock.config.files.locate import FileFormat, PipelineFile, locate
from penstock.config.keys import PENSTOCK, SPARK_PIPELINE
from penstock.config.reader import Placed, Reader, Settings, overlay
from penstock.config.shapes import Section
from penstock.config.values.trigger import Trigger
from penstock.errors import ConfigError, SourceLocation

_DATABRICKS_SECRET = re.compile(r"\{\{\s*secrets/([^/}\s]+)/([^/}\s]+)\s*\}\}")


@dataclass(slots=True)
class FileSettings:
    """What a pipeline file says: `settings`, and by name the `environments` to lay over them.

    `targets` are environments that lie over the settings already, because the file's own format does that;
    `storage` is the place for what the pipeline stores when nothing else says one. When `of_session`,
    entries of `configuration` that begin with `spark.` are settings of Spark's session as well. `of_databricks` says
    that they are settings of Databricks.
    """

    settings: Settings
    environments: Settings = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    storage: str = ".penstock"
    of_session: bool = False
    errors: list[ConfigError] = field(default_factory=list)
    notices: list[ConfigError] = field(default_factory=list)
    of_databricks: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """What the user chose on the command line: an environment, a pipeline of a bundle."""

    environment: str | None
    pipeline: str | None
    environ: Mapping[str, str]


def read_file(found: PipelineFile, choice: Choice) -> FileSettings:
    """Reads a pipeline file; mistakes are in the result's `errors`, not raised.

    Raises:
        ConfigError: the file cannot be read at all.
    """
    root = read_document(found.path, found.shown)
    file_format = found.format(root)
    if choice.pipeline is not None and file_format in (FileFormat.SPARK_PIPELINE, FileFormat.DATABRICKS):
        raise ConfigError(
            "CONFIG_UNKNOWN_PIPELINE",
            location=SourceLocation(found.shown),
            pipeline=choice.pipeline,
            suggestion="The file declares one pipeline only; leave --pipeline out.",
        )
    match file_format:
        case FileFormat.PENSTOCK:
            return _penstock(found, root, choice)
        case FileFormat.SPARK_PIPELINE:
            elsewhere = frozenset(key.name for key in PENSTOCK.keys)
            return _checked(Reader(found.shown, elsewhere), root, SPARK_PIPELINE, of_session=True)
        case FileFormat.DATABRICKS:
            return _databricks(found.shown, root)
        case FileFormat.BUNDLE:
            return _bundle(found, root, choice)
        case _:
            assert_never(file_format)


def _checked(reader: Reader, root: Node | None, section: Section, *, of_session: bool = False) -> FileSettings:
    settings = reader.read(root, section)
    return FileSettings(settings, of_session=of_session, errors=reader.errors, notices=reader.notices)


def _penstock(found: PipelineFile, root: Node | None, choice: Choice) -> FileSettings:
    read = _checked(Reader(found.shown), root, PENSTOCK)
    if "environments" in read.settings:
        read.environments = read.settings.pop("environments").value
    extends = read.settings.pop("extends", None)
    pipeline = read.settings.pop("pipeline", None)
    if extends is None:
        if pipeline is not None or choice.pipeline is not None:
            place = pipeline.location if pipeline else SourceLocation(found.shown)
            read.errors.append(
                ConfigError("CONFIG_MISSING_KEY", location=place, key="extends", example="extends: databricks.yml")
            )
        return read
    other = locate(found.path.parent / os.path.expanduser(extends.value))
    if other.path == found.path:
        raise ConfigError("CONFIG_EXTENDS_ITSELF", location=extends.location, file=other.shown)
    chosen = choice.pipeline or (pipeline.value if pipeline else None)
    base = read_file(other, replace(choice, pipeline=chosen))
    return FileSettings(
        overlay(_anchored(base.settings, other.path.parent), read.settings),
        {**base.environments, **read.environments},
        base.targets,
        base.storage,
        base.of_session,
        [*base.errors, *read.errors],
        [*base.notices, *read.notices],
        base.of_databricks,
    )


def _databricks(shown: str, root: Node | None) -> FileSettings:
    """Reads a pipeline's settings, as its page shows them or as the command line tool prints them (below `spec`)."""
    if isinstance(root, MappingNode):
        root = next((value for name, _, value in pairs(root) if name == "spec"), root)
    read = _checked(Reader(shown), root, DATABRICKS, of_session=True)
    read.of_databricks = True
    try:
        _move_settings(read.settings)
    except ConfigError as error:
        read.errors.append(error)
    return read


def _bundle(found: PipelineFile, root: Node | None, choice: Choice) -> FileSettings:
    if root is None:
        raise ConfigError("CONFIG_MISSING_KEY", location=SourceLocation(found.shown), key="resources", example="{}")
    try:
        bundle = Bundle.read(found.path, found.shown, root)
        target = choice.environment if choice.environment in bundle.targets else None
        pipeline = bundle.pipeline(choice.pipeline, target, choice.environ)
    except RecursionError:
        problem = "it is nested too deeply"
        raise ConfigError("CONFIG_SYNTAX", location=SourceLocation(found.shown), problem=problem) from None
    read = _databricks(found.shown, pipeline.settings)
    read.targets = tuple(bundle.targets)
    read.storage = "/".join((".penstock", *([pipeline.target] if pipeline.target else []), pipeline.key))
    if "name" not in read.settings:
        read.errors = [error for error in read.errors if error.facts.get("key") != "name"]
        read.settings["name"] = Placed(pipeline.key, SourceLocation(found.shown))
    return read


def _move_settings(settings: Settings) -> None:
    """Gives entries of `configuration` that mean something to Databricks itself their own key."""
    configuration: Settings = settings["configuration"].value if "configuration" in settings else {}
    for key, placed in list(configuration.items()):
        reference = _DATABRICKS_SECRET.sub(r"${secret:\1/\2}", placed.value)
        if reference != placed.value:
            del configuration[key]
            spark_conf = settings.setdefault("spark_conf", Placed({}, placed.location))
            spark_conf.value[key] = Placed(reference, placed.location)
    interval = configuration.get("pipelines.trigger.interval")
    if interval is not None and "continuous" in settings and settings["continuous"].value:
        try:
            settings["trigger"] = Placed(Trigger.parse(interval.value), interval.location)
        except ConfigError as error:
            error.location = interval.location
            raise


def _anchored(settings: Settings, folder: Path) -> Settings:
    """Returns settings whose relative paths are made absolute: they are read from another file's place."""
    anchored = dict(settings)
    if "storage" in settings:
        storage = settings["storage"]
        anchored["storage"] = Placed(_below(folder, storage.value), storage.location)
    if "libraries" in settings:
        libraries = [
            Placed(_anchored_library(each.value, folder), each.location) for each in settings["libraries"].value
        ]
        anchored["libraries"] = Placed(libraries, settings["libraries"].location)
    return anchored


def _anchored_library(library: Settings, folder: Path) -> Settings:
    return {
        kind: Placed(
            {key: Placed(_below(folder, path.value), path.location) for key, path in section.value.items()},
            section.location,
        )
        for kind, section in library.items()
    }


def _below(folder: Path, path: str) -> str:
    return path if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", path) else os.path.join(folder, os.path.expanduser(path))

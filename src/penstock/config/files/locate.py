"""Which file is the pipeline file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ruamel.yaml.nodes import MappingNode, Node

from penstock.config.files.document import pairs
from penstock.errors import ConfigError, did_you_mean

_SUFFIXES = (".yml", ".yaml")
_BY_STEM: dict[str, tuple[str, ...]] = {
    "penstock": _SUFFIXES,
    "spark-pipeline": _SUFFIXES,
    "databricks": _SUFFIXES,
    "bundle": _SUFFIXES,
    "pipeline": (".json", *_SUFFIXES),
    "pipeline-settings": (".json", *_SUFFIXES),
}
"""The names of pipeline files, in the order in which a folder is searched for them."""


_BUNDLES = frozenset({"databricks", "bundle"})
_SETTINGS = frozenset({"pipeline", "pipeline-settings"})


class FileFormat(Enum):
    """Whose pipeline file it is: Penstock's, Spark's, a Databricks pipeline's settings, or a Databricks bundle."""

    PENSTOCK = "penstock"
    SPARK_PIPELINE = "spark-pipeline"
    DATABRICKS = "databricks"
    BUNDLE = "bundle"


@dataclass(frozen=True, slots=True)
class PipelineFile:
    """A pipeline file: its absolute path, and the path as the user would type it."""

    path: Path
    shown: str

    def format(self, root: Node | None) -> FileFormat:
        """Returns the format of the file, which holds `root`: by its name, or by what only bundles hold."""
        if self.path.stem == "spark-pipeline":
            return FileFormat.SPARK_PIPELINE
        if self.path.stem == "penstock":
            return FileFormat.PENSTOCK
        names = {name for name, _, _ in pairs(root)} if isinstance(root, MappingNode) else set()
        if self.path.stem in _BUNDLES or names & {"bundle", "resources"}:
            return FileFormat.BUNDLE
        if self.path.suffix == ".json" or self.path.stem in _SETTINGS:
            return FileFormat.DATABRICKS
        return FileFormat.PENSTOCK


def locate(given: Path | str) -> PipelineFile:
    """Finds the pipeline file in a folder, or takes the file that is named; penstock.yml is preferred.

    Raises:
        ConfigError: PIPELINE_NOT_FOUND, CONFIG_AMBIGUOUS_FILE, CONFIG_UNREADABLE.
    """
    path = Path(os.path.expanduser(given))
    try:
        return _locate(path)
    except OSError as error:
        raise ConfigError("CONFIG_UNREADABLE", path=path, reason=error.strerror) from None


def nearest_project(folder: Path) -> Path:
    """Returns the nearest folder that holds a pipeline file: `folder` or one above it; else `folder` itself."""
    return next((each for each in (folder, *folder.absolute().parents) if _holds_pipeline(each)), folder)


def _locate(path: Path) -> PipelineFile:
    if path.is_dir():
        return _in_folder(path)
    if not path.exists():
        raise _not_found(path, "it does not exist")
    if path.suffix not in (*_SUFFIXES, ".json"):
        raise _not_found(path, "it is neither a folder nor a .yml or .json file")
    return _file(path)


def _in_folder(folder: Path) -> PipelineFile:
    for stem, suffixes in _BY_STEM.items():
        found = [folder / f"{stem}{suffix}" for suffix in suffixes if (folder / f"{stem}{suffix}").exists()]
        if len(found) > 1:
            raise ConfigError("CONFIG_AMBIGUOUS_FILE", first=shown_path(found[0]), second=shown_path(found[1]))
        if found:
            return _file(found[0])
    raise _not_found(folder, "it holds neither penstock.yml nor spark-pipeline.yml nor databricks.yml")


def _file(path: Path) -> PipelineFile:
    return PipelineFile(path.absolute().parent.resolve() / path.name, shown_path(path))


def shown_path(path: Path) -> str:
    """Returns the path relative to the current folder when it is below it, else as given."""
    normal = Path(os.path.normpath(path))
    return str(normal.relative_to(Path.cwd()) if normal.is_absolute() and normal.is_relative_to(Path.cwd()) else normal)


def _not_found(path: Path, reason: str) -> ConfigError:
    return ConfigError("PIPELINE_NOT_FOUND", path=path, reason=reason, suggestion=_suggestion(path))


def _suggestion(path: Path) -> str:
    """Names a folder nearby that holds a pipeline: around the given path, above it, or with a similar name."""
    absolute = path.absolute()
    for above in absolute.parents:
        if _holds_pipeline(above):
            return f"'{os.path.relpath(above)}' holds one."
    try:
        siblings = [folder.name for folder in absolute.parent.iterdir() if folder.is_dir() and _holds_pipeline(folder)]
        below = [folder for folder in absolute.iterdir() if _holds_pipeline(folder)] if path.is_dir() else []
    except OSError:
        return ""
    if len(below) == 1:
        return f"'{path / below[0].name}' holds one."
    return did_you_mean(path.name, siblings)


def _holds_pipeline(folder: Path) -> bool:
    return any((folder / f"{stem}{suffix}").is_file() for stem, suffixes in _BY_STEM.items() for suffix in suffixes)

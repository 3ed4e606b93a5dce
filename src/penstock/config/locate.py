"""Which file is the pipeline file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import ConfigError, did_you_mean

_STEMS = ("penstock", "spark-pipeline")
_SUFFIXES = (".yml", ".yaml")


@dataclass(frozen=True, slots=True)
class PipelineFile:
    """A pipeline file: its absolute path, and the path as the user would type it."""

    path: Path
    shown: str

    @property
    def is_spark_pipeline(self) -> bool:
        """Whether it is the pipeline file of Apache Spark."""
        return self.path.stem == "spark-pipeline"


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


def _locate(path: Path) -> PipelineFile:
    if path.is_dir():
        return _in_folder(path)
    if not path.exists():
        raise _not_found(path, "it does not exist")
    if path.suffix not in _SUFFIXES:
        raise _not_found(path, "it is neither a folder nor a .yml file")
    return _file(path)


def _in_folder(folder: Path) -> PipelineFile:
    for stem in _STEMS:
        found = [folder / f"{stem}{suffix}" for suffix in _SUFFIXES if (folder / f"{stem}{suffix}").exists()]
        if len(found) > 1:
            raise ConfigError("CONFIG_AMBIGUOUS_FILE", first=_shown(found[0]), second=_shown(found[1]))
        if found:
            return _file(found[0])
    raise _not_found(folder, "it holds neither penstock.yml nor spark-pipeline.yml")


def _file(path: Path) -> PipelineFile:
    return PipelineFile(path.absolute().parent.resolve() / path.name, _shown(path))


def _shown(path: Path) -> str:
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
    return any((folder / f"{stem}{suffix}").is_file() for stem in _STEMS for suffix in _SUFFIXES)

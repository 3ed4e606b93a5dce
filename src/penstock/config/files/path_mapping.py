"""Where paths that were written for Databricks are here: the `paths` of the configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from penstock.errors import DefinitionError

_SCHEMES = re.compile(r"dbfs:/+|/dbfs/+|file:/+(?=(?:Workspace|Volumes|dbfs)/)(?:dbfs/+)?")
_ROOTS = ("/Volumes", "/Workspace", "/databricks-datasets", "/FileStore")
_COMPONENTS_OF_VOLUME = 4  # /Volumes/<catalog>/<schema>/<volume>


def map_path(path: str, paths: Mapping[str, str]) -> str:
    """Returns `path` with its longest beginning in `paths` replaced, else `path` itself.

    `dbfs:/x`, `/dbfs/x` and `/x` are three spellings of one place of Databricks: an entry for one of
    them holds for the others, unless they have their own.
    """
    for spelling in (_as_written, _canonical):
        given = spelling(path)
        for prefix, target in sorted(paths.items(), key=lambda item: -len(item[0])):
            beginning = spelling(prefix).rstrip("/")
            if given == beginning or given.startswith(f"{beginning}/"):
                return target.rstrip("/") + given[len(beginning) :]
    return path


def resolve_path(path: str, paths: Mapping[str, str]) -> str:
    """Returns where `path` is on this machine; `map_path` for readers.

    Raises:
        DefinitionError: PATH_NOT_MAPPED for a path of Databricks that `paths` should map and does not.
    """
    where = map_path(path, paths)
    entry = missing_entry(path) if where == path else None
    if entry is not None:
        raise DefinitionError("PATH_NOT_MAPPED", path=path, entry=entry)
    return where


def explain_missing_file(failure: BaseException) -> DefinitionError | None:
    """Returns what a FileNotFoundError means whose file is a path of Databricks; None for any other exception."""
    path = failure.filename if isinstance(failure, FileNotFoundError) else None
    entry = missing_entry(path) if isinstance(path, str) else None
    return None if entry is None else DefinitionError("PATH_NOT_MAPPED", path=path, entry=entry)


def missing_entry(path: str) -> str | None:
    """Returns the entry that `paths` needs for a path of Databricks that is not on this machine; None for others."""
    canonical = _canonical(path)
    root = next((root for root in _ROOTS if canonical == root or canonical.startswith(f"{root}/")), None)
    if canonical == path and root is None:
        return None
    if root is not None and canonical == path and os.path.exists("/".join(path.split("/")[:3])):
        return None  # e.g. a disk of a Mac, which are in /Volumes
    parts = canonical.strip("/").split("/")
    shown = "/" + "/".join(parts[: _COMPONENTS_OF_VOLUME if root == "/Volumes" else 2])
    return shown if root is not None else f"dbfs:{shown}"


def _as_written(path: str) -> str:
    return path


def _canonical(path: str) -> str:
    return _SCHEMES.sub("/", path, count=1) if _SCHEMES.match(path) else path

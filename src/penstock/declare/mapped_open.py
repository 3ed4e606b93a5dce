"""The `open` of pipeline files: Python's own, under the path mapping of the configuration."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Mapping
from typing import Any

from penstock.config import resolve_path


class MappedOpen:
    """Opens `/Volumes/…`, `/dbfs/…` and the like where `paths` says they are, anything else as Python does.

    It is a global of the pipeline's own files only: libraries, pathlib and workers have Python's.
    """

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = paths

    def __call__(self, file: Any, *arguments: Any, **options: Any) -> Any:
        """Opens a file as `open` does.

        Raises:
            DefinitionError: PATH_NOT_MAPPED.
            OSError: as `open`.
        """
        where = resolve_path(file, self._paths) if isinstance(file, str) else file
        return builtins.open(where, *arguments, **options)

    def __reduce__(self) -> tuple[Any, ...]:
        # A worker has neither Penstock nor the mapping: it gets Python's own.
        return operator.itemgetter(0), ((builtins.open,),)

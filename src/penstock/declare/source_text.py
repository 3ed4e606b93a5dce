"""The text of a pipeline file."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from penstock.config.regular_file import read_regular_file
from penstock.declare.user_frames import shown_path
from penstock.errors import DefinitionError, SourceLocation

_LARGEST = 100_000_000  # bytes: a notebook keeps its pictures


def read_source_text(path: Path, root: Path) -> str:
    """Returns the text of a file, decoded as Python decodes its own: UTF-8, unless a Python file says otherwise.

    Raises:
        DefinitionError: PIPELINE_FILE_UNREADABLE.
    """
    place = SourceLocation(shown_path(str(path), root))
    try:
        return importlib.util.decode_source(read_regular_file(path, _LARGEST))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DefinitionError("PIPELINE_FILE_UNREADABLE", location=place, reason=reason) from error
    except (UnicodeDecodeError, SyntaxError) as error:
        reason = "it is not UTF-8 text"
        raise DefinitionError("PIPELINE_FILE_UNREADABLE", location=place, reason=reason) from error

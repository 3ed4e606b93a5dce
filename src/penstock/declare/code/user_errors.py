"""Turns what the user's code raises into errors with the user's line and without a stack trace."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from penstock.config import explain_missing_file
from penstock.declare.spellings import SPELLINGS
from penstock.declare.user_frames import failure_location, is_user_file, shown_path
from penstock.errors import DefinitionError, PenstockError, SourceLocation, did_you_mean

_LONGEST_REASON = 300
_IMPORTED_NAME = re.compile(r"cannot import name '(\w+)'")


Translate = Callable[[BaseException], PenstockError | None]
"""Recognises an exception of another system, e.g. Spark's; None leaves it to `user_error`."""


def user_error(
    failure: BaseException,
    file: Path,
    root: Path,
    translate: Translate | None = None,
    *,
    otherwise: str = "PIPELINE_FILE_FAILED",
) -> PenstockError:
    """Returns the error to show for an exception that left the user's file `file`.

    The place is the innermost line in a user's file, which can be another file than `file`. `otherwise` is the
    condition of an exception that nothing more is known of.
    """
    if translate is not None and not isinstance(failure, PenstockError):
        failure = (translate(failure) or failure).with_traceback(failure.__traceback__)
    failure = (explain_missing_file(failure) or failure).with_traceback(failure.__traceback__)
    location = failure_location(failure.__traceback__, root) or SourceLocation(shown_path(str(file), root))
    if isinstance(failure, PenstockError):
        if failure.location is None:
            failure.location = location
        return failure
    if isinstance(failure, SyntaxError) and (failure.filename is None or is_user_file(failure.filename, root)):
        place = SourceLocation(shown_path(failure.filename or str(file), root), failure.lineno)
        return DefinitionError("SYNTAX_ERROR_IN_PIPELINE_FILE", location=place, reason=failure.msg)
    return _missing_name(failure, location) or DefinitionError(
        otherwise, location=location, error=type(failure).__name__, reason=one_line(failure)
    )


def one_line(failure: BaseException) -> str:
    """Returns the first line of an exception's message, cut to a length that a terminal can show."""
    try:
        lines = str(failure).strip().splitlines()
    except Exception:  # noqa: BLE001 - a user's exception class can fail to print itself
        lines = []
    first = lines[0] if lines else "no message"
    return first if len(first) <= _LONGEST_REASON else first[: _LONGEST_REASON - 1] + "…"


def _missing_name(failure: BaseException, location: SourceLocation) -> DefinitionError | None:
    """Recognises names that Penstock's modules would be expected to have."""
    match failure:
        case AttributeError(name=str(name), obj=ModuleType(__name__=str(module))) if module in SPELLINGS:
            return _unknown(module, name, location)
        case ImportError(name=str(module)) if module in SPELLINGS:
            found = _IMPORTED_NAME.search(str(failure))
            return _unknown(module, found.group(1), location) if found else None
    return None


def _unknown(module: str, name: str, location: SourceLocation) -> DefinitionError:
    known = sorted(SPELLINGS[module])
    return DefinitionError(
        "UNKNOWN_DECLARATION",
        location=location,
        module=module,
        name=name,
        suggestion=did_you_mean(name, known),
        known=", ".join(known),
    )

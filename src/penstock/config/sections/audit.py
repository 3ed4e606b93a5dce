"""What a pipeline file says about the record of reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock.config.shapes import Flag, Key, Section, Text, matching

_FAIL: Final = "fail"
_on_failure = matching(f"continue|{_FAIL}", f"continue or {_FAIL}", _FAIL)


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """Whether reads are recorded, and whether one that cannot be recorded is refused."""

    reads: bool = True
    required: bool = False


AUDIT: Final = Section(
    (
        Key("reads", Flag(), "Whether commands and pages that show rows record who reads them.", "false", "true"),
        Key(
            "on_failure",
            Text(_on_failure, f"continue|{_FAIL}"),
            "What becomes of a read that cannot be recorded: it continues with a notice, or it fails.",
            _FAIL,
            "continue",
        ),
    )
)


def audit_settings(values: Mapping[str, Any]) -> AuditSettings:
    """Returns the settings of the values of a file's section `audit`."""
    return AuditSettings(values.get("reads", True), values.get("on_failure") == _FAIL)

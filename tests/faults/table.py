"""The table that `make test-faults` ends with: a line for each kind of fault, from what its tests have recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

RecordProperty = Callable[[str, object], None]
"""pytest's fixture `record_property`: here the name is what was counted, and the last value of a module counts."""

_OUTCOMES = ("passed", "failed", "error")


@dataclass
class _Fault:
    ran: int = 0
    failed: int = 0
    found: dict[str, object] = field(default_factory=dict)


def print_table(stats: Mapping[str, Sequence[Any]], write_line: Callable[[str], None]) -> None:
    """Writes the table of the reports in `stats`, pytest's own by outcome; nothing when no test of faults ran."""
    faults: dict[str, _Fault] = {}
    for report in (each for outcome in _OUTCOMES for each in stats.get(outcome, ())):
        module = PurePosixPath(report.nodeid.partition("::")[0])
        if module.parent.name != "faults":
            continue
        fault = faults.setdefault(module.stem.removeprefix("test_").replace("_", " "), _Fault())
        fault.ran += 1
        fault.failed += report.outcome == "failed"
        fault.found |= dict(report.user_properties)
    if not faults:
        return
    write_line("")
    write_line(f"{'fault':<24}{'tests':>7}{'failed':>8}   found")
    for name, fault in sorted(faults.items()):
        found = ", ".join(f"{value} {what}" for what, value in fault.found.items())
        write_line(f"{name:<24}{fault.ran:>7}{fault.failed:>8}   {found}".rstrip())
    ran, failed = sum(each.ran for each in faults.values()), sum(each.failed for each in faults.values())
    write_line(f"{'all':<24}{ran:>7}{failed:>8}")

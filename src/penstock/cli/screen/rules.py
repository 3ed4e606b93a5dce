"""A rule of lint or doctor, as `--explain` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.care.finding import Rule


def explain_rule(rule: Rule) -> str:
    """Returns its sentences and its two examples."""
    examples = (("Found in", rule.bad), ("Not in", rule.good))
    lines = [f"{rule.name} ({rule.severity.value})", f"  {rule.why}", f"  Fix: {rule.fix}"]
    for title, example in examples:
        lines += ["", f"  {title}:", *(f"    {line}" for line in example.splitlines()), ""]
    return "\n".join(lines)

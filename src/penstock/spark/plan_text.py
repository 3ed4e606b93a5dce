"""The text of a query's plan, for fingerprints that are the same in the next process."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

ALL_FIELDS: Final = 2**31 - 1
"""As many columns of a wide relation as there can be."""

LAMBDA_NAME: Final = r"(?<=\blambda )\w+(?=#)"
"""A pattern: the name of an argument in a function of elements, which Spark draws where Python calls it."""

CTE_ID: Final = r"(?<=CTERelationDef )\d+|(?<=CTERelationRef )\d+"
"""A pattern: the number that Spark draws for a common table expression."""

_METRICS_ID = re.compile(r"(CollectMetrics .*), \d+$")


def plan_lines(plan: Any) -> list[str]:
    """Returns the text of a whole `LogicalPlan` by line, without the numbers that Spark draws for observed queries."""
    tree = str(plan.treeString(True, False, ALL_FIELDS, False, False))
    return [_METRICS_ID.sub(r"\1", line) for line in tree.splitlines()]


@dataclass(slots=True)
class Ordinals:
    """Gives each drawn id the number of its first appearance."""

    seen: dict[str, int] = field(default_factory=dict)

    def of(self, drawn: object) -> int:
        """Returns the number of an id."""
        return self.seen.setdefault(str(drawn), len(self.seen))

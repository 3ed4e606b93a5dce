"""A dataset function that is written in SQL, and the place of a flow's SQL in the pipeline's files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penstock.errors import SourceLocation
from penstock.graph.elements import Expectation, UnresolvedFlow
from penstock.graph.sql.placed_text import PlacedText


@dataclass(frozen=True, slots=True)
class SqlQuery:
    """A query of a `.sql` file; called like a dataset function, it runs `text` on `session`.

    `schema` and `catalog` are those of names without one; None means the pipeline's. `text` knows its place in the
    file, so that what Spark finds wrong in it can be shown there.
    """

    text: PlacedText
    session: Any
    schema: str | None = None
    catalog: str | None = None

    def __call__(self) -> Any:
        """Returns the DataFrame that the session makes of the query."""
        return self.session.sql(self.text.text)


def sql_place(code: str, flow: UnresolvedFlow, rules: Iterable[Expectation]) -> SourceLocation | None:
    """Looks for `code` in the flow's statement and in the expectations of its target; None when it is in neither."""
    function = flow.function
    if isinstance(function, SqlQuery) and (offset := function.text.text.find(code)) >= 0:
        return function.text.location(offset)
    return next((each.location for each in rules if code in str(each.constraint)), None)

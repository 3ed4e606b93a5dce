"""A dataset function that is written in SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.graph.placed_text import PlacedText


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

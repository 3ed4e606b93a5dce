"""Notices of casts that can fail, for pipelines that were written where a cast gave NULL then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame

from penstock.declare.user_frames import shown_path
from penstock.errors import DefinitionError, PenstockError
from penstock.graph.elements import Expectation, UnresolvedFlow
from penstock.graph.sql_query import sql_place
from penstock.spark.failures.data_exceptions import fallible_casts

_CONDITION = "CASTS_CAN_FAIL"


def cast_notices(
    frame: DataFrame, flow: UnresolvedFlow, rules: Iterable[Expectation], directory: Path
) -> Iterator[PenstockError]:
    """Yields a notice for each cast of a query, at its place; `one_a_file` joins them."""
    rules = tuple(rules)
    for cast in fallible_casts(frame):
        location = flow.location
        if cast.place is not None:
            found = cast.place.location
            if found is not None:
                location = replace(found, path=shown_path(found.path, directory))
            else:
                location = sql_place(cast.place.code, flow, rules) or location
        facts = {"file": location.path, "casts": f"{cast.text} (line {location.line})"}
        yield DefinitionError(_CONDITION, location=location, **facts)


def one_a_file(notices: Iterable[PenstockError]) -> list[PenstockError]:
    """Returns `notices` with those of casts joined: one a file, its casts by their lines."""
    of_files: dict[str, dict[str, PenstockError]] = {}
    others = []
    for notice in notices:
        if notice.condition == _CONDITION:
            of_files.setdefault(notice.facts["file"], {})[notice.facts["casts"]] = notice
        else:
            others.append(notice)
    for file, casts in of_files.items():
        ordered = sorted(casts.values(), key=lambda notice: (notice.location and notice.location.line) or 0)
        listed = ", ".join(notice.facts["casts"] for notice in ordered)
        others.append(DefinitionError(_CONDITION, location=ordered[0].location, file=file, casts=listed))
    return others

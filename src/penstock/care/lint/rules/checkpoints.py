"""Where a query keeps its progress."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from penstock.care.lint.constants import GAP
from penstock.care.lint.finding import Check, Found
from penstock.care.lint.queries import NOT_STORED, Query
from penstock.care.lint.script import Script

_OPTION: Final = "checkpointLocation"
_SETTING: Final = "spark.sql.streaming.checkpointLocation"
_TEMPORARY: Final = re.compile(r"(?:file:(?://)?|dbfs:|/dbfs)?/(?:var/)?tmp(?:/|$)|/local_disk0")
_SHARED_BY_MACHINES: Final = ("/mnt/", "/dbfs/", "/Volumes/")


def _missing(script: Script) -> Iterator[Found]:
    if script.conf(_SETTING) is not None:
        return
    for query in script.queries:
        if query.sink is not None and query.sink not in NOT_STORED and query.complete and query.option(_OPTION) is None:
            yield script.found(query.start.node, f"a query that writes to {query.sink} has no `{_OPTION}`")


def _shared(script: Script) -> Iterator[Found]:
    first: dict[str, Query] = {}
    for query in script.queries:
        place = script.constants.text(query.option(_OPTION))
        if place is None or GAP in place:
            continue
        other = first.setdefault(place.rstrip("/"), query)
        if (
            other is not query
            and other.target != query.target
            and not script.exclusive(other.start.node, query.start.node)
        ):
            evidence = f"`{place}` is also the checkpoint of the query in line {script.line(other.start.node)}"
            yield script.found(query.start.node, evidence)


def _temporary(script: Script) -> Iterator[Found]:
    for query in script.queries:
        node = query.option(_OPTION)
        place = script.constants.text(node)
        made = isinstance(node, ast.Call) and "temp" in ast.unparse(node.func).casefold()
        if node is not None and (made or (place is not None and _TEMPORARY.match(place))):
            yield script.found(node, f"`{place or ast.unparse(node)}` is a temporary folder")


def _local(script: Script) -> Iterator[Found]:
    master = script.master
    if master is None or not master.startswith(("spark://", "k8s://", "yarn")):
        return
    for query in script.queries:
        node = query.option(_OPTION)
        place = script.constants.text(node) or ""
        if place.startswith(_SHARED_BY_MACHINES) or not place:
            continue
        if place.startswith("file:") or (not master.startswith("yarn") and place.startswith(("/", "./"))):
            yield script.found(
                node or query.start.node, f"`{place}` is on a disk of one machine, and the master is {master}"
            )


def _deleted(script: Script) -> Iterator[Found]:
    places = {_folder(script.constants.text(query.option(_OPTION)) or "") for query in script.queries}
    for call in script.calls("rmtree", "rm"):
        removed = script.constants.text(call.args[0]) if call.args else None
        if removed is not None and GAP not in removed and any(each.startswith(_folder(removed)) for each in places):
            yield script.found(call, f"`{removed}` holds the checkpoint of a query in this script")


def _folder(path: str) -> str:
    """A path without what says on which of two ways DBFS is reached, with a slash at its end."""
    return path.removeprefix("dbfs:").removeprefix("/dbfs").rstrip("/") + "/"


CHECKS: Final[dict[str, Check]] = {
    "checkpoint-missing": _missing,
    "checkpoint-shared": _shared,
    "checkpoint-temporary": _temporary,
    "checkpoint-local": _local,
    "checkpoint-deleted": _deleted,
}

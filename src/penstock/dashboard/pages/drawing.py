"""The lineage in a page: each dataset's card leads to its page, and shows when it falls behind."""

from __future__ import annotations

from markupsafe import Markup

from penstock.dashboard.live_log import Snapshot
from penstock.dashboard.rendering import dataset_path
from penstock.observe.drawing.svg import to_svg
from penstock.observe.lineage import Lineage
from penstock.observe.problems import Severity


def lineage_drawing(snapshot: Snapshot, lineage: Lineage, title: str) -> Markup | None:
    """Returns the drawing with the numbers of the snapshot; None without anything to draw."""
    if not lineage.nodes:
        return None
    known = {dataset.name.casefold() for dataset in snapshot.status.datasets}
    warned = {each.dataset for each in snapshot.problems if each.severity is Severity.WARNING and each.dataset}

    def link(name: str) -> str | None:
        return dataset_path(name) if name.casefold() in known else None

    shown = lineage.with_status(snapshot.status).with_numbers({name: {"warned": True} for name in warned})
    # to_svg escapes every name itself
    return Markup(to_svg(shown, link=link, embedded=True, title=title))  # noqa: S704

"""Drawings in a page: the lineage, and the failures of a rule by batch."""

from __future__ import annotations

from markupsafe import Markup

from penstock.dashboard.log.live_log import Snapshot
from penstock.dashboard.rendering import dataset_path
from penstock.observe.drawing.svg import to_svg
from penstock.observe.lineage import Lineage
from penstock.observe.quality import ExpectationQuality
from penstock.observe.severity import Severity

_SPARKS = 60


def lineage_drawing(snapshot: Snapshot, lineage: Lineage, title: str) -> Markup | None:
    """Returns the drawing with the numbers of the snapshot; None without anything to draw.

    Each dataset's card leads to its page, and shows when it falls behind.
    """
    if not lineage.nodes:
        return None
    known = {dataset.name.casefold() for dataset in snapshot.status.datasets}
    warned = {each.dataset for each in snapshot.problems if each.severity is Severity.WARNING and each.dataset}

    def link(name: str) -> str | None:
        return dataset_path(name) if name.casefold() in known else None

    shown = lineage.with_status(snapshot.status).with_numbers({name: {"warned": True} for name in warned})
    # to_svg escapes every name itself
    return Markup(to_svg(shown, link=link, embedded=True, title=title))  # noqa: S704


def sparkline(quality: ExpectationQuality) -> Markup | None:
    """Returns the share of rows that broke a rule in each of its newest batches, as a small drawing without words.

    The highest bar is the greatest share of them: the drawing shows when, the numbers beside it how many.
    """
    points = [point for point in quality.points if point.passed + point.failed][-_SPARKS:]
    if len(points) < 2:
        return None
    shares = [point.failed / (point.passed + point.failed) for point in points]
    most = max(shares) or 1.0
    bars = []
    for number, share in enumerate(shares):
        height = 0.0 if not share else max(18 * share / most, 2.0)
        bars.append(f'<rect x="{number * 3}" y="{18 - height:.1f}" width="2" height="{height:.1f}"/>')
    width = 3 * len(points)
    return Markup(  # noqa: S704 - numbers only
        f'<svg class="spark" width="{width}" height="19" viewBox="0 0 {width} 19" aria-hidden="true">'
        f'<path d="M0 18.5H{width}"/>{"".join(bars)}</svg>'
    )

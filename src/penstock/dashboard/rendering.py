"""Templates: autoescaped, strict about unknown names, with the filters that put numbers into words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps

from penstock.events import FlowStatus, UpdateState
from penstock.observe import numbers
from penstock.observe.drawing.tone import tone as tone_of

_UPDATE_TONES = {
    UpdateState.RUNNING: "active",
    UpdateState.COMPLETED: "good",
    UpdateState.FAILED: "bad",
    UpdateState.CANCELED: "stopped",
}
_USES: Final = {
    "TRANSFORMATION": "computed",
    "AGGREGATION": "aggregated",
    "JOIN": "join",
    "GROUP_BY": "grouping",
    "FILTER": "filter",
    "SORT": "order",
    "WINDOW": "window",
    "CONDITIONAL": "condition",
}


def render(template: str, /, **context: Any) -> bytes:
    """Returns one page of HTML in UTF-8; every value of `context` is escaped unless it is `Markup`.

    Half a surrogate pair, which a log can hold and UTF-8 cannot, becomes a question mark.
    """
    return _environment().get_template(template).render(**context).encode("utf-8", "replace")


def safe_json(value: Any) -> str:
    """Returns JSON in which no text can end a script or start an element, wherever a browser may sniff it."""
    return str(htmlsafe_json_dumps(value))


def dataset_path(name: str) -> str:
    """Returns the address of a dataset's page; the name is one quoted piece, whatever is in it."""
    return f"/datasets/{quote(name, safe='', errors='replace')}"


def flow_path(dataset: str, flow: str) -> str:
    """Returns the address of a flow's page."""
    return f"/flows/{quote(dataset, safe='', errors='replace')}?flow={quote(flow, safe='', errors='replace')}"


def moment(value: datetime | str | None) -> datetime | None:
    """Returns the moment in UTC, also from ISO text; None for nothing and for text that is no moment."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if value is None:
        return None
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)


def error_texts(error: Mapping[str, Any] | None) -> dict[str, str | None] | None:
    """Returns an error's texts; a log may lack any of them."""
    if error is None:
        return None
    keys = ("condition", "message", "fix", "file", "line")
    texts: dict[str, str | None] = {key: None if error.get(key) is None else str(error[key]) for key in keys}
    texts["message"] = texts["message"] or "It failed without a message."
    return texts


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("penstock.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        count=numbers.count,
        rate=numbers.rate,
        duration=numbers.duration_ms,
        percent=numbers.percent,
        byte_size=numbers.byte_size,
        short_count=numbers.short_count,
        dataset_path=dataset_path,
        flow_path=flow_path,
        quoted=lambda value: quote(str(value), safe="", errors="replace"),
        error_texts=error_texts,
        uses=_uses,
        tone=_tone,
        word=_word,
        iso=_iso,
        utc=_utc,
    )
    return environment


def _tone(status: FlowStatus | UpdateState) -> str:
    if isinstance(status, UpdateState):
        return _UPDATE_TONES.get(status, "waiting")
    return tone_of(status).value


def _word(status: FlowStatus | UpdateState | str) -> str:
    value = status if isinstance(status, str) else status.value
    return value.replace("_", " ").capitalize()


def _uses(how: Iterable[str]) -> str:
    """How a column is used; nothing where it is taken as it is."""
    return ", ".join(_USES[kind] for kind in how if kind in _USES)


def _iso(value: datetime | str) -> str:
    found = moment(value)
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z") if found else str(value)


def _utc(value: datetime | str) -> str:
    found = moment(value)
    return f"{found:%Y-%m-%d %H:%M:%S} UTC" if found else str(value)

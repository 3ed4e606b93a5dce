"""`python -m penstock.dashboard.table_reader`: one question as JSON on stdin, one answer as JSON on stdout.

Questions are `{"kind": "table" | "quarantine" | "late" | "checks", "storage", "name", "path", "version", "stores",
"settings"}`; `stores` are the settings of the clients of object stores, keys and all, which must not show in a list of
processes, `settings` those of the pipeline (`SettingsFacts`). An error of the catalogue is an answer:
`{"error": {condition, message, fix, …}}`. Only reads.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from penstock.errors import PenstockError
from penstock.graph.identifier import Identifier
from penstock.observe.stored.tables import StoredTable, TableRows, read_table
from penstock.storage import StorageLayout
from penstock.storage.cell_values import float_text, json_value
from penstock.storage.delta.table import has_delta_log, open_delta_table, readable
from penstock.storage.stores.settings import use_store_settings

_ROWS: Final = 50
_VERSIONS: Final = 30
_CELL: Final = 200


def answer(question: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer to one question."""
    readers: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
        "table": _table,
        "quarantine": _quarantine,
        "late": _late,
        "checks": _checks,
    }
    use_store_settings(lambda: question.get("stores") or {})
    try:
        return readers[question["kind"]](question)
    except PenstockError as error:
        return {"error": error.to_json()}


def _table(question: Mapping[str, Any]) -> dict[str, Any]:
    table = _place(question)
    if not has_delta_log(table.uri):
        return {"none": True}
    found = read_table(table, limit=_ROWS, version=question.get("version"))
    return {**_rows(found), "versions": _versions(table)}


def _quarantine(question: Mapping[str, Any]) -> dict[str, Any]:
    from penstock.graph.companions.quarantine import TIME, quarantine_of, quarantine_path
    from penstock.observe.stored.companions import summarize_quarantine

    place = _place(question)
    table = StoredTable(quarantine_of(place.identifier), quarantine_path(place.uri))
    return _companion(table, TIME, summarize_quarantine)


def _late(question: Mapping[str, Any]) -> dict[str, Any]:
    from penstock.graph.companions.late_rows import TIME, late_rows_of, late_rows_path
    from penstock.observe.stored.companions import summarize_late_rows

    place = _place(question)
    return _companion(StoredTable(late_rows_of(place.identifier), late_rows_path(place.uri)), TIME, summarize_late_rows)


def _companion(table: StoredTable, time: str, summarize: Callable[[StoredTable], Any]) -> dict[str, Any]:
    if not has_delta_log(table.uri):
        return {"none": True}
    newest = read_table(table, limit=_ROWS, sort=time, descending=True)
    return {**_rows(newest), "summary": asdict(summarize(table))}


def _checks(question: Mapping[str, Any]) -> dict[str, Any]:
    from penstock.care.doctor.examination import examination_of
    from penstock.care.doctor.facts import read_facts
    from penstock.care.doctor.settings import SettingsFacts
    from penstock.care.tuning.tuning import tuning_of

    settings = question.get("settings")
    facts = read_facts(str(question["storage"]), None if settings is None else SettingsFacts.from_json(settings))
    return {**examination_of(facts).to_json(), "advice": tuning_of(facts).to_json()["settings"]}


def _place(question: Mapping[str, Any]) -> StoredTable:
    """The table's folder in the storage, else where its definition puts it; a copied storage names the old place."""
    identifier = Identifier.recorded(str(question["name"]))
    own = StorageLayout(str(question["storage"])).table(identifier)
    declared = question.get("path")
    uri = own if not declared or has_delta_log(own) else str(declared)
    return StoredTable(identifier, uri)


def _rows(found: TableRows) -> dict[str, Any]:
    return {
        "columns": list(found.columns),
        "rows": [[_text(value) for value in row] for row in found.rows],
        "version": found.version,
        "truncated": found.truncated,
    }


def _versions(table: StoredTable) -> list[dict[str, Any]]:
    with readable(str(table.identifier)):
        commits = open_delta_table(table.uri).history(_VERSIONS)
    return [_commit(commit) for commit in commits]


def _commit(commit: Mapping[str, Any]) -> dict[str, Any]:
    metrics = commit.get("operationMetrics")
    values = metrics if isinstance(metrics, Mapping) else {}
    moment = commit.get("timestamp")
    rows = next((values[key] for key in ("numOutputRows", "num_added_rows") if key in values), None)
    return {
        "version": commit.get("version"),
        "timestamp": datetime.fromtimestamp(moment / 1000, UTC).isoformat() if isinstance(moment, int) else None,
        "operation": _text(commit.get("operation")),
        "rows": None if rows is None or not str(rows).isdecimal() else int(rows),
    }


def _text(value: object) -> str | None:
    match value:
        case None:
            return None
        case str():
            text = value
        case bytes():
            text = value[:_CELL].hex(" ")
        case datetime():
            text = value.isoformat(sep=" ")
        case float() if not math.isfinite(value):
            text = float_text(value)
        case Decimal():
            text = f"{value:f}"
        case dict() | list() | tuple():
            text = json.dumps(json_value(value), ensure_ascii=False)
        case _:
            text = str(value)
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"


def main() -> None:
    """Answers the question on stdin."""
    json.dump(answer(json.load(sys.stdin)), sys.stdout)


if __name__ == "__main__":
    main()

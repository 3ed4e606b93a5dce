"""Which catalog the names without one are in, noted in the storage: its folders for their tables name none."""

from __future__ import annotations

import json
from collections.abc import Iterable

from penstock.errors import StateError
from penstock.graph.identifier import Identifier
from penstock.storage import Storage, StorageLayout
from penstock.storage.layout import encode_part


def check_own_catalog(layout: StorageLayout, own: str | None, targets: Iterable[Identifier]) -> None:
    """Makes sure that none of the tables has changed its folder, or would go on with another one's, since the last run.

    `own` is the catalog of the names without one. Another name for the pipeline's own catalog alone moves nothing.

    Raises:
        StateError: CATALOG_CHANGED.
    """
    noted = noted_catalog(layout)
    if noted is None or noted.casefold() == (own or "").casefold():
        return
    for target in targets:
        if (target.catalog or "").casefold() == noted.casefold():
            consequence = f"'{target}' would begin again without its rows"
            raise StateError("CATALOG_CHANGED", dataset=str(target), noted=noted, own=own, consequence=consequence)
    folders = Storage(layout.uri).list(layout.tables) if own is not None else ()
    if own is not None and any(each.name.startswith(f"{encode_part(own)}.") for each in folders):
        consequence = f"they would get the rows of '{noted}', and the tables that '{own}' has here would be left"
        raise StateError("CATALOG_CHANGED", noted=noted, own=own, consequence=consequence)


def note_own_catalog(layout: StorageLayout, own: str | None) -> None:
    """Notes the catalog of the names without one, unless there is none."""
    if own is not None and own != noted_catalog(layout):
        Storage(layout.uri).write_text_atomic(layout.catalog, json.dumps({"catalog": own}) + "\n")


def noted_catalog(layout: StorageLayout) -> str | None:
    """Returns the catalog of the last run; None before there was one, and when the file is damaged: it only guards."""
    try:
        document = json.loads(Storage(layout.uri).read_text(layout.catalog))
    except (FileNotFoundError, ValueError):
        return None
    return str(document["catalog"]) if isinstance(document, dict) and document.get("catalog") else None

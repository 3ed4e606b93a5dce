"""How large the tables of a storage are, from their Delta logs."""

from __future__ import annotations

from penstock.errors import PenstockError
from penstock.observe.log.followed_log import read_definitions
from penstock.observe.stored.tables import list_tables
from penstock.storage.delta.table import added_files, open_delta_table, readable


def stored_bytes(storage_uri: str) -> dict[str, int]:
    """Returns the bytes of the newest version of each table, by its name in lower case.

    What cannot be read is left out. Earlier versions, until VACUUM removes their files, are not counted.
    """
    found: dict[str, int] = {}
    for table in list_tables(storage_uri, read_definitions(storage_uri)):
        name = str(table.identifier).casefold()
        try:
            with readable(name):
                files = added_files(open_delta_table(table.uri))
        except PenstockError:
            continue
        found[name] = sum(size or 0 for size in files.column("size_bytes").to_pylist())
    return found

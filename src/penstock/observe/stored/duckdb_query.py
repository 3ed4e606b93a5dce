"""One query over the tables of a storage by DuckDB, in this process: no JVM is started."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import ConfigError, DefinitionError, PenstockError, first_line
from penstock.graph.sql.names import quoted
from penstock.observe.stored.tables import StoredTable, check_open, check_reachable, load_version
from penstock.observe.stored.time_travel import duckdb_name, mark_names, moment_of, with_marked_names
from penstock.storage.cell_values import python_values
from penstock.storage.delta.data_files import missing_data_files
from penstock.storage.delta.light_pyarrow import import_light_pyarrow
from penstock.storage.delta.table import (
    added_files,
    dataset_of,
    needs_query_engine,
    open_delta_table,
    queried_rows,
    readable,
)

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from deltalake import DeltaTable

_ITS_OWN: Final = {"information_schema", "pg_catalog"}
"""Schemas in which DuckDB describes itself."""
_SMALL: Final = 4 << 20
_LOCKED: Final = """
    SET TimeZone = 'UTC'; SET python_enable_replacements = false;
    SET enable_external_access = false; SET lock_configuration = true
"""


def query_by_duckdb(statement: str, find: Callable[[str], StoredTable]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Runs a query in DuckDB's SQL; returns its column names and all of its rows.

    Tables are read as of their newest version when the query begins, or of the one that the query names. One with
    deletion vectors, mapped columns or files in another table is read into memory; of others over 4 MiB only the
    columns and row groups that the query needs. The query reaches no file, no network and no Python variable.

    Args:
        statement: One SELECT, or what DuckDB counts as one (WITH, FROM, VALUES, DESCRIBE, SUMMARIZE).
        find: Called with each name in the query that is no name of its own, each part in backquotes.

    Raises:
        ConfigError: DUCKDB_NOT_INSTALLED; what `find` raises.
        DefinitionError: DUCKDB_QUERY_FAILED, DUCKDB_STATEMENT_REFUSED.
        StateError: TABLE_IS_PROTECTED by a row filter or masks, TABLE_NOT_READABLE, TABLE_VERSION_NOT_FOUND,
            DATA_FILES_MISSING, TABLE_IN_ANOTHER_STORE.
    """
    try:
        import duckdb
    except ImportError:
        raise ConfigError("DUCKDB_NOT_INSTALLED") from None
    found: list[tuple[StoredTable, DeltaTable]] = []
    with duckdb.connect(":memory:") as connection:
        try:
            parsed = _parse(connection, with_marked_names(statement))
            for parts in sorted(_tables(parsed)):
                last, moment = moment_of(parts[-1])
                try:
                    table = find(".".join(map(quoted, (*parts[:-1], last))))
                except ConfigError:
                    if len(parts) == 1 and parts[0].casefold() in _names_of_with(parsed):
                        continue  # such a name may also be that of a table, which the query of WITH reads
                    raise
                with readable(str(table.identifier)):
                    delta = open_delta_table(table.uri)
                check_open(table, delta.metadata().configuration)
                if moment is not None:
                    load_version(table, delta, moment)
                check_reachable(table, delta)
                found.append((table, delta))
                _define(connection, parts, f"table_{len(found)}", delta)
            connection.execute(_LOCKED)
            result = connection.sql(_with_own_catalogs(connection, parsed))
            names, columns = result.columns, map(_values, result.types, result.to_arrow_table().columns)
            return names, list(zip(*columns, strict=True))
        except PenstockError:
            raise
        except Exception as error:  # deltalake's query engine raises plain ones
            for table, delta in found:
                if (missing := missing_data_files(delta, table.uri, str(table.identifier))) is not None:
                    raise missing from error
            raise DefinitionError("DUCKDB_QUERY_FAILED", detail=first_line(error)) from error


def _parse(connection: duckdb.DuckDBPyConnection, statement: str) -> dict[str, Any]:
    """Returns the statement as DuckDB parses it, if it is one query."""
    [(text,)] = connection.execute("SELECT json_serialize_sql(?)", [statement]).fetchall()
    parsed: dict[str, Any] = json.loads(text)
    if parsed["error"] and parsed["error_type"] == "parser":
        raise DefinitionError("DUCKDB_QUERY_FAILED", detail=parsed["error_message"])
    if parsed["error"] or len(parsed["statements"]) != 1:
        raise DefinitionError("DUCKDB_STATEMENT_REFUSED")
    for node in _nodes(parsed):
        if node.get("type") == "BASE_TABLE":
            mark_names(node)
    return parsed


def _tables(parsed: dict[str, Any]) -> set[tuple[str, ...]]:
    """Returns the parts of each table's name, as the statement spells them; names of WITH are among them."""
    tables = [node for node in _nodes(parsed) if node.get("type") == "BASE_TABLE"]
    names = [(each["catalog_name"], each["schema_name"], each["table_name"]) for each in tables]
    return {tuple(filter(None, name)) for name in names if name[1].lower() not in _ITS_OWN}


def _names_of_with(parsed: dict[str, Any]) -> set[str]:
    return {each["key"].casefold() for node in _nodes(parsed) for each in (node.get("cte_map") or {}).get("map", ())}


def _with_own_catalogs(connection: duckdb.DuckDBPyConnection, parsed: dict[str, Any]) -> str:
    """Returns the query with the catalogs that `_define` makes: of the names that people use, DuckDB reserves some."""
    whole = {tuple(map(str.casefold, each)) for each in _tables(parsed) if len(each) == 3}
    for node in _nodes(parsed):
        if node.get("type") == "BASE_TABLE" and node["catalog_name"]:
            node["catalog_name"] = _catalog(node["catalog_name"])
            node.pop("qualified_name", None)  # the same once more, in newer versions
        elif node.get("type") == "COLUMN_REF" and tuple(map(str.casefold, node["column_names"][:3])) in whole:
            node["column_names"][0] = _catalog(node["column_names"][0])
    [(text,)] = connection.execute("SELECT json_deserialize_sql(?)", [json.dumps(parsed)]).fetchall()
    return str(text)


def _nodes(parsed: Any) -> Iterator[dict[str, Any]]:
    if isinstance(parsed, dict):
        yield parsed
    for each in parsed.values() if isinstance(parsed, dict) else parsed if isinstance(parsed, list) else ():
        yield from _nodes(each)


def _catalog(name: str) -> str:
    return f"catalog {name}"


def _define(connection: duckdb.DuckDBPyConnection, parts: tuple[str, ...], alias: str, delta: DeltaTable) -> None:
    """Makes a view of the table, with the schema by which the query names it, in a catalog of its own name."""
    names = [duckdb_name(part) for part in parts]
    if len(parts) == 3:
        names[0] = duckdb_name(_catalog(parts[0]))
        connection.execute(f"ATTACH IF NOT EXISTS ':memory:' AS {names[0]}")
    if len(parts) > 1:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {'.'.join(names[:-1])}")
    connection.register(alias, _rows(delta))
    connection.execute(f"CREATE OR REPLACE VIEW {'.'.join(names)} AS SELECT * FROM temp.{alias}")  # noqa: S608 - names are quoted


def _rows(delta: DeltaTable) -> Any:
    """What DuckDB reads in part; a small table is read whole: to import the reader of parts takes longer."""
    import_light_pyarrow()
    size = sum(size or 0 for size in added_files(delta)["size_bytes"].to_pylist())
    if needs_query_engine(delta) or size < _SMALL:
        return queried_rows(delta)
    import_light_pyarrow(dataset=True)
    return dataset_of(delta)


def _values(kind: object, column: pa.ChunkedArray[Any]) -> list[Any]:
    """The values of a column; DuckDB's sums of whole numbers are HUGEINT, for which Arrow has only decimals."""
    values = python_values(column)
    return [None if value is None else int(value) for value in values] if str(kind) == "HUGEINT" else values

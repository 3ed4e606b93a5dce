"""Delta tables without Spark, by their location: how each store is reached is known here, and to no caller."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from penstock.errors import StateError, first_line
from penstock.storage.delta.commits import commit_version
from penstock.storage.filesystem import Storage, StoredFile
from penstock.storage.local_disk import local_path
from penstock.storage.stores.errors import again_if_expired, object_store_error
from penstock.storage.stores.stores import store_of

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable
    from pyarrow.dataset import Dataset


_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|/")


def open_delta_table(uri: str, *, version: int | None = None) -> DeltaTable:
    """Returns the Delta table at a path or a URI of an object store, as of its newest version or the one requested.

    Raises:
        DeltaError, OSError, ValueError: there is no table, or it cannot be read.
        ConfigError: OBJECT_STORE_ACCESS_DENIED, OBJECT_STORE_BUCKET_NOT_FOUND, OBJECT_STORE_CREDENTIALS_MISSING,
            OBJECT_STORE_ENCRYPTION_UNSUPPORTED, SECRET_NOT_FOUND.
        ExternalError: STORAGE_FAILED, the object store does not answer.
    """
    from deltalake import DeltaTable

    def open_it() -> DeltaTable:
        with _reaching(uri):
            return DeltaTable(uri, version=version, storage_options=storage_options(uri))

    return again_if_expired(open_it)


def table_properties(uri: str) -> dict[str, str]:
    """Returns the properties of the newest version of a table.

    Raises:
        DeltaError, OSError, ValueError, ConfigError, ExternalError: as for `open_delta_table`.
    """
    return open_delta_table(uri).metadata().configuration


def newest_commit(uri: str) -> StoredFile | None:
    """Returns the file of a table's newest commit, without reading it; None where there is none."""
    commits = (file for file in Storage(uri).list("_delta_log") if commit_version(file.name) is not None)
    return max(commits, key=lambda file: file.name, default=None)


def storage_options(uri: str) -> dict[str, str] | None:
    """Returns the options with which delta-rs reaches a table; None for one that needs none.

    Raises:
        ConfigError: as for `open_delta_table`.
    """
    store = store_of(uri)
    return None if store is None else store.delta_options(uri)


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Says TABLE_NOT_READABLE of a table, called `name`, that deltalake cannot use."""
    from deltalake.exceptions import DeltaError

    try:
        yield
    except (DeltaError, OSError, ValueError) as error:
        raise StateError("TABLE_NOT_READABLE", dataset=name, name=name, reason=first_line(error)) from error


def all_rows(table: DeltaTable) -> pa.Table:
    """Returns all rows of the table; times as `queried_rows` reads them.

    Raises:
        DeltaError, OSError, ValueError: the table cannot be read.
    """
    if needs_query_engine(table):
        return queried_rows(table)
    return dataset_of(table).to_table()


def needs_query_engine(table: DeltaTable) -> bool:
    """Whether the table has what `dataset_of` does not know: deletion vectors, mapped columns, files elsewhere."""
    return table.protocol().min_reader_version > 1 or bool(files_elsewhere(table))


def queried_rows(table: DeltaTable, query: str = "SELECT * FROM rows") -> pa.Table:
    """Returns what a query of DataFusion gives, which knows the table as `rows`, and its deletion vectors and mapping.

    Times are right in every year. Files that Spark writes by default, as earlier versions of Penstock did, hold them
    as INT96, which readers take for nanoseconds since 1970: a number that overflows before 1677 and after 2262.

    Raises:
        Exception: the query engine has only plain ones.
    """
    from deltalake import QueryBuilder

    builder = QueryBuilder().register("rows", table)
    builder.execute("SET datafusion.execution.parquet.coerce_int96 = 'us'").read_all()
    return _arrow_table(builder.execute(query).read_all())


def added_files(table: DeltaTable) -> pa.Table:
    """Returns a row for each data file: `path`, `size_bytes`, `num_records`, `partition.…`, `min.…`, `max.…`."""
    return _arrow_table(table.get_add_actions(flatten=True))


def data_files(table: DeltaTable, uri: str) -> list[str]:
    """Returns the path or URI of each data file of the table at `uri`."""
    root = uri.rstrip("/")
    return [_place(path) if _ABSOLUTE.match(path) else f"{root}/{unquote(path)}" for path in _logged_paths(table)]


def files_elsewhere(table: DeltaTable) -> list[str]:
    """Returns the paths or URIs of those data files that lie in other tables, as those of a shallow clone do."""
    return [_place(path) for path in _logged_paths(table) if _ABSOLUTE.match(path)]


def store_root(uri: str) -> str:
    """Returns the scheme of a URI with its bucket or container; nothing of a path or URI of this machine's disks."""
    parts = urlsplit(local_path(uri))
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme else ""


def _logged_paths(table: DeltaTable) -> list[str]:
    return [str(path) for path in table.get_add_actions().column("path").to_pylist()]  # no pyarrow to import


def _place(path: str) -> str:
    return local_path(unquote(path))


def _arrow_table(answer: Any) -> pa.Table:
    """What deltalake answers; `pyarrow.table` would import pandas, where it is there, which takes 0.25 s."""
    import pyarrow as pa

    stream = hasattr(answer, "__arrow_c_stream__")
    return pa.RecordBatchReader.from_stream(answer).read_all() if stream else pa.table(answer)


def dataset_of(table: DeltaTable) -> Dataset:
    """Returns what reads the rows in part, times as `queried_rows` reads them; imports pandas where it is there.

    Raises:
        DeltaError, OSError, ValueError: the table cannot be read.
    """
    from pyarrow.dataset import ParquetReadOptions

    options = ParquetReadOptions(dictionary_columns=None, coerce_int96_timestamp_unit="us")
    return table.to_pyarrow_dataset(parquet_read_options=options)


def is_delta_table(uri: str) -> bool:
    """Whether there is a Delta table at a path or a URI of an object store.

    Raises:
        ConfigError, ExternalError: as for `open_delta_table`.
    """
    from deltalake import DeltaTable

    def look() -> bool:
        with _reaching(uri):
            return DeltaTable.is_deltatable(uri, storage_options(uri))

    return again_if_expired(look)


def has_delta_log(uri: str) -> bool:
    """Whether there is a folder `_delta_log`; takes no time to import, for who only lists tables.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_SCHEME_UNSUPPORTED; ConfigError, ExternalError: as `is_delta_table`.
    """
    return Storage(uri).exists("_delta_log")


@contextmanager
def _reaching(uri: str) -> Iterator[None]:
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        yield
    except TableNotFoundError:
        raise
    except (DeltaError, OSError) as error:
        refused = object_store_error(uri, error) if store_of(uri) is not None else None
        if refused is None:
            raise
        raise refused from error

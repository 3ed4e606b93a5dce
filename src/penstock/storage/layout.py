"""Where things are inside a storage. Only this file knows; everyone else asks it."""

from __future__ import annotations

import re
from typing import Protocol
from urllib.parse import unquote

_UNSAFE = re.compile(r"[^a-z0-9_-]")


class QualifiedName(Protocol):
    """A dataset's full name; `penstock.graph.Identifier` is one."""

    @property
    def catalog(self) -> str | None:
        """The catalog's name, None for the pipeline's own."""
        ...

    @property
    def schema(self) -> str:
        """The schema's name, as spelt."""
        ...

    @property
    def name(self) -> str:
        """The dataset's name inside its schema, as spelt."""
        ...


class StorageLayout:
    """The URIs of a storage's parts; strings that Spark, DuckDB and `Storage` all accept.

    <uri>/tables/<schema>/<name>
    <uri>/checkpoints/<schema>/<name>/<flow>/<generation>[.before-<time>]
    <uri>/checkpoints/unfinished.json
    <uri>/changes/<schema>/<name>/<generation>[/snapshots/<flow>]
    <uri>/schemas/<schema>/<name>/<flow>/<source>
    <uri>/events/<update ordinal>-<n>.jsonl
    <uri>/events/_totals
    <uri>/reads/<n>.jsonl
    <uri>/grants/<n>.jsonl
    <uri>/scratch/<name of the work>
    <uri>/batch: the storage of `run --batch`, with the same parts
    <uri>/maintenance.json
    <uri>/lock.json
    <uri>/catalog.json

    Of a dataset in another catalog than the pipeline's own, `<schema>` is `<catalog>.<schema>`.

    Names that are equal without regard to case give the same path; characters outside `[a-z0-9_-]` are written as `~`
    and two hexadecimal digits a byte, so a name can never climb out of its folder. (Not `%`: delta-rs decodes a percent
    sign in a path and then does not find the folder.)
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri.rstrip("/") or "/"

    @property
    def tables(self) -> str:
        """The folder of all tables; `dataset_name` reads the names of the two folders below it."""
        return self._join("tables")

    def table(self, identifier: QualifiedName) -> str:
        """Returns where the dataset's Delta table is kept unless it declares a path."""
        return self._of_dataset("tables", identifier)

    def checkpoint(self, identifier: QualifiedName, flow: str, generation: int) -> str:
        """Returns the checkpoint of one generation; a full refresh starts the next one."""
        return f"{self.checkpoints(identifier, flow)}/{generation}"

    def checkpoints(self, identifier: QualifiedName, flow: str) -> str:
        """Returns the folder that holds the generations of the flow's checkpoints."""
        return self._of_dataset("checkpoints", identifier, flow)

    def change_log(self, identifier: QualifiedName, generation: int) -> str:
        """Returns where the events of a table of change flows are remembered."""
        return f"{self.changes(identifier)}/{generation}"

    def snapshots(self, identifier: QualifiedName, flow: str, generation: int) -> str:
        """Returns where the versions of the snapshots that a flow has taken are noted."""
        return f"{self.change_log(identifier, generation)}/snapshots/{encode_part(flow)}"

    def changes(self, identifier: QualifiedName) -> str:
        """Returns the folder that holds the generations of a table's change log."""
        return self._of_dataset("changes", identifier)

    def schemas(self, identifier: QualifiedName, flow: str, source: str) -> str:
        """Returns where Auto Loader keeps the inferred schema of one source of the flow."""
        return self._of_dataset("schemas", identifier, flow, source)

    def notes(self, identifier: QualifiedName) -> tuple[str, ...]:
        """Returns the folders that hold what flows noted: all change logs, all checkpoints, all inferred schemas."""
        parts = ("changes", "checkpoints", "schemas")
        return tuple(self._of_dataset(part, identifier) for part in parts)

    @property
    def scratch(self) -> str:
        """The folder of what a command makes for itself alone; see `penstock.storage.scratch`."""
        return self._join("scratch")

    @property
    def events(self) -> str:
        """The folder of the event log's segments."""
        return self._join("events")

    @property
    def reads(self) -> str:
        """The folder of the record of reads."""
        return self._join("reads")

    @property
    def grants(self) -> str:
        """The folder of the record of grants."""
        return self._join("grants")

    @property
    def maintenance(self) -> str:
        """The file with the time when each table was last maintained."""
        return f"{self._root}/maintenance.json"

    @property
    def lock(self) -> str:
        """The file that names the run which works on this storage."""
        return f"{self._root}/lock.json"

    @property
    def _root(self) -> str:
        return "" if self.uri == "/" else self.uri

    @property
    def catalog(self) -> str:
        """The file that names the catalog of the names without one."""
        return f"{self._root}/catalog.json"

    def _of_dataset(self, kind: str, identifier: QualifiedName, *parts: str) -> str:
        schema = encode_part(identifier.schema)
        if identifier.catalog is not None:
            schema = f"{encode_part(identifier.catalog)}.{schema}"
        return "/".join([self._root, kind, schema, *(encode_part(part) for part in (identifier.name, *parts))])

    def _join(self, *parts: str) -> str:
        return "/".join([self._root, *(encode_part(part) for part in parts)])


def encode_part(part: str) -> str:
    """Returns `part` as one path component: case-folded, every unusual byte as `~` and two hexadecimal digits."""
    return _UNSAFE.sub(lambda match: "".join(f"~{byte:02X}" for byte in match.group().encode()), part.casefold())


def dataset_name(schema_folder: str, name_folder: str) -> tuple[str, str, str | None]:
    """Returns schema, name and catalog of the dataset that has these two folders, in lower case.

    The catalog is None for the pipeline's own.
    """
    catalog, dot, schema = schema_folder.rpartition(".")
    return decode_part(schema), decode_part(name_folder), decode_part(catalog) if dot else None


def decode_part(component: str) -> str:
    """Returns the name that `encode_part` turned into `component`, in lower case."""
    return unquote(component.replace("%", "%25").replace("~", "%"))

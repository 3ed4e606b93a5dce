"""How a running query says "there is a field that the schema does not know", and how that is read back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from penstock.errors import DataError, PenstockError
from penstock.graph.sql.names import literal
from penstock.spark.failures.translate import user_raised

# Parts of a nested path are joined by a character that no field name holds; a dot may stand in a name.
PATH_SEPARATOR: Final = "\u0001"

_UNKNOWN = "PENSTOCK_UNKNOWN_FIELDS "
_WIDER = "PENSTOCK_WIDER_TYPES "
_MALFORMED = "PENSTOCK_MALFORMED_RECORD "
_TYPE_MISMATCH = "PENSTOCK_PARTITION_VALUE "


@dataclass(frozen=True, slots=True)
class UnknownFields:
    """What one failed batch reported: the paths of the fields, and the file of the first such record.

    `source_name` says which source of the flow it was. `types` are wider types that known fields need: the parts of
    the path, and the type as DDL. Only the latter have parts for the elements of arrays and the values of maps.
    """

    source_name: str
    fields: tuple[tuple[str, ...], ...]
    file: str
    types: tuple[tuple[tuple[str, ...], str], ...] = ()


def raise_unknown_sql(source_name: str, fields: str, file: str) -> str:
    """Returns SQL that fails the batch; `fields` (array of strings) and `file` are SQL."""
    return _raise(_UNKNOWN, source_name, f"'fields', {fields}, ", file)


def raise_wider_sql(source_name: str, found: str, file: str) -> str:
    """Returns SQL that fails the batch; `found`, an array as of `wider_type_sql`, and `file` are SQL."""
    return _raise(_WIDER, source_name, f"'found', {found}, ", file)


def raise_malformed_sql(source_name: str, file: str) -> str:
    """Returns SQL that fails the batch because of a record that cannot be parsed."""
    return _raise(_MALFORMED, source_name, "", file)


def raise_type_mismatch_sql(source_name: str, name: str, value: str, expected: str, file: str) -> str:
    """Returns SQL that fails the batch because of the `value`, SQL, of the partition column `name`."""
    facts = f"'column', {literal(name)}, 'found', {value}, 'expected', {literal(expected)}, "
    return _raise(_TYPE_MISMATCH, source_name, facts, file)


def _raise(mark: str, source_name: str, facts: str, file: str) -> str:
    payload = f"to_json(named_struct('source', '{source_name}', {facts}'file', {file}))"
    return f"CAST(raise_error(concat('{mark}', {payload})) AS BOOLEAN)"


def unknown_fields(failure: BaseException) -> UnknownFields | None:
    """Returns what a failed query reported of unknown fields or wider types, None when it failed for another reason."""
    document = _payload(failure, _UNKNOWN)
    if document is not None:
        fields = tuple(tuple(str(path).split(PATH_SEPARATOR)) for path in document["fields"])
        return UnknownFields(str(document["source"]), fields, unquote(str(document["file"])))
    document = _payload(failure, _WIDER)
    if document is None:
        return None
    types = tuple((tuple(map(str, found["path"])), str(found["type"])) for found in document["found"])
    return UnknownFields(str(document["source"]), (), unquote(str(document["file"])), types)


def describe_failure(failure: BaseException, *, dataset: str | None = None) -> PenstockError | None:
    """Returns what a failure of a cloudFiles source means when it is not evolved away; None when it is not one.

    Called by the runtime after `AutoLoaderSource.evolve` returned None, before the general translation.
    """
    unknown = unknown_fields(failure)
    if unknown is not None:
        fields = ", ".join(f"'{'.'.join(path)}'" for path in unknown.fields)
        return DataError("UNKNOWN_FIELD_EXCEPTION", dataset=dataset, fields=fields, file=unknown.file)
    malformed = _payload(failure, _MALFORMED)
    if malformed is not None:
        return DataError("AUTO_LOADER_MALFORMED_RECORD", dataset=dataset, file=unquote(str(malformed["file"])))
    mismatch = _payload(failure, _TYPE_MISMATCH)
    if mismatch is not None:
        return DataError(
            "AUTO_LOADER_PARTITION_VALUE",
            dataset=dataset,
            column=str(mismatch["column"]),
            found=str(mismatch["found"]),
            expected=str(mismatch["expected"]),
            file=unquote(str(mismatch["file"])),
        )
    return None


def _payload(failure: BaseException, mark: str) -> dict[str, Any] | None:
    raised = user_raised(failure) or ""
    start = raised.find(mark)
    if start < 0:
        return None
    document, _ = json.JSONDecoder().raw_decode(raised[start + len(mark) :])
    return dict(document)

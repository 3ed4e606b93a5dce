"""Columns of Avro, ORC and Parquet files that have a type which the schema's cannot take: their values are rescued.

Spark reads all files of a batch with one schema. So such a column of a file is read as a column of its own, by the name
that it has in that file; `penstock.files` has the readers that know other names for the columns of some files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from pyspark.sql import types as T  # noqa: N812 - PySpark's own spelling

from penstock.spark.sources.auto_loader.files.discovery import uri_of_path
from penstock.spark.sources.auto_loader.schema.merge import Widen, add_new_fields
from penstock.spark.sources.auto_loader.schema.widening import holds

# The readers that know other names for the columns of some files.
READERS: Final = {
    "avro": "penstock.files.RenamedAvro",
    "orc": "penstock.files.RenamedOrc",
    "parquet": "penstock.files.RenamedParquet",
}

_OPTION: Final = "penstock.otherNames"
_READ_AS: Final = "__penstock_other_"
_NOWHERE: Final = "__penstock_nowhere_"

# What else Spark's readers read, and lose nothing: the type in the file, and that of the column. That of ORC reads
# nearly everything as anything, and cuts it.
_ALSO_READ: Final[dict[str, tuple[tuple[type[T.DataType], type[T.DataType]], ...]]] = {
    "avro": (),
    "orc": (
        *(
            (kind, T.StringType)
            for kind in (T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.DoubleType, T.DecimalType)
        ),
        (T.DateType, T.StringType),
        (T.TimestampType, T.StringType),
        (T.StringType, T.BinaryType),
        (T.DateType, T.TimestampType),
    ),
    "parquet": (
        (T.BinaryType, T.StringType),
        (T.StringType, T.BinaryType),
        (T.TimestampType, T.TimestampNTZType),
        (T.TimestampNTZType, T.TimestampType),
    ),
}


@dataclass(frozen=True, slots=True)
class TypeMismatch:
    """A column of a file that the schema's column cannot take, and the place inside of it where types differ.

    `path` has dots; `known` is the type in the schema, `found` that in the file.
    """

    column: T.StructField
    path: str
    known: T.DataType
    found: T.DataType


@dataclass(frozen=True, slots=True)
class OtherTypes:
    """Which columns of which files have other types.

    `columns` are names of the schema with a type that files have; `files` gives by path the positions in it.
    """

    columns: tuple[T.StructField, ...] = ()
    files: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def with_type_mismatches(self, found: Mapping[str, Iterable[TypeMismatch]]) -> OtherTypes:
        """Returns what is known with the mismatches of some files, whatever was known of these."""
        columns, files = list(self.columns), dict[str, tuple[int, ...]]()
        for path, mismatches_there in found.items():
            for column in (mismatch.column for mismatch in mismatches_there):
                if column not in columns:
                    columns.append(column)
                files[path] = (*files.get(path, ()), columns.index(column))
        return OtherTypes(tuple(columns), {**self.without(found).files, **files})

    def without(self, paths: Iterable[str]) -> OtherTypes:
        """Returns what is known of the other files."""
        gone = set(paths)
        return replace(self, files={path: found for path, found in self.files.items() if path not in gone})

    def fields(self) -> list[T.StructField]:
        """Returns the columns as which Spark reads them."""
        return [T.StructField(f"{_READ_AS}{at}", column.dataType) for at, column in enumerate(self.columns)]

    def reader_options(self) -> dict[str, str]:
        """Returns the option that gives the reader of the format the names of columns in these files."""
        kinds = sorted(set(self.files.values()))
        names = [
            {
                name: other
                for at in kind
                for name, other in (
                    (self.columns[at].name, f"{_NOWHERE}{at}"),
                    (f"{_READ_AS}{at}", self.columns[at].name),
                )
            }
            for kind in kinds
        ]
        files = {_uri(path): kinds.index(kind) for path, kind in self.files.items()}
        return {_OPTION: json.dumps({"names": names, "files": files})}

    def to_text(self) -> str:
        """Returns the stored form."""
        document = {"columns": T.StructType(list(self.columns)).jsonValue(), "files": self.files}
        return json.dumps(document, ensure_ascii=False) + "\n"

    @classmethod
    def from_text(cls, text: str) -> OtherTypes:
        """Reads the stored form; ValueError or KeyError when it is not one."""
        document = json.loads(text)
        files = {str(path): tuple(map(int, found)) for path, found in document["files"].items()}
        return cls(tuple(T.StructType.fromJson(document["columns"]).fields), files)


def type_mismatches(known: T.StructType, found: T.StructType, source_format: str) -> list[TypeMismatch]:
    """Returns the columns of a file, in their order, that those of `known` cannot take."""
    types = {each.name.casefold(): each for each in known.fields}
    result = []
    for each in found.fields:
        column = types.get(each.name.casefold())
        if column is None:
            continue
        place = next(_differing(column.dataType, each.dataType, column.name, source_format), None)
        if place is not None:
            result.append(TypeMismatch(T.StructField(column.name, each.dataType), *place))
    return result


def sort_by_type(
    known: T.StructType, schemas: Iterable[tuple[str, T.StructType]], source_format: str, widen: Widen | None
) -> tuple[T.StructType, dict[str, list[TypeMismatch]]]:
    """Compares files one after the other: a type counts where it fits with those before, or widens them.

    Returns `known` with what the files add to it, and the mismatches of each file.
    """
    columns, found = known, {}
    for path, schema in schemas:
        found[path] = type_mismatches(add_new_fields(columns, schema, widen), schema, source_format)
        names = {mismatch.column.name.casefold() for mismatch in found[path]}
        fitting = T.StructType([each for each in schema.fields if each.name.casefold() not in names])
        columns = add_new_fields(columns, fitting, widen)
    return columns, found


def _differing(
    known: T.DataType, found: T.DataType, path: str, source_format: str
) -> Iterator[tuple[str, T.DataType, T.DataType]]:
    match known, found:
        case T.StructType(), T.StructType():
            types = {each.name.casefold(): each for each in found.fields}
            for each in known.fields:
                other = types.get(each.name.casefold())
                if other is not None:
                    yield from _differing(each.dataType, other.dataType, f"{path}.{each.name}", source_format)
        case T.ArrayType(), T.ArrayType():
            yield from _differing(known.elementType, found.elementType, f"{path}.element", source_format)
        case T.MapType(), T.MapType():
            yield from _differing(known.keyType, found.keyType, f"{path}.key", source_format)
            yield from _differing(known.valueType, found.valueType, f"{path}.value", source_format)
        case _ if not holds(known, found, source_format):
            if (type(found), type(known)) not in _ALSO_READ[source_format]:
                yield path, known, found


def _uri(path: str) -> str:
    """A path as the readers spell it, whether or not Hadoop writes an empty authority."""
    uri = uri_of_path(path)
    return f"file:{uri.removeprefix('file://')}" if uri.startswith("file:///") else uri

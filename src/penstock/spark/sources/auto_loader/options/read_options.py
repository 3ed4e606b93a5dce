"""What a cloudFiles read asks for, checked and typed."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from penstock.errors import DefinitionError, did_you_mean
from penstock.spark.sources.auto_loader.options import names
from penstock.spark.sources.auto_loader.options.clean_source import CleanSource, parse_clean_source, parse_duration
from penstock.spark.sources.auto_loader.options.hints import usable_hints
from penstock.spark.sources.spark_sources import NEVER_TOO_OLD
from penstock.spark.sources.stream_read import StreamRead

DEFAULT_MAX_FILES: Final = 1000
DEFAULT_RESCUED_COLUMN: Final = "_rescued_data"

_DEFAULT_BACKFILL: Final = "1 day"
_DEFAULT_SETTLE_TIME: Final = "10 seconds"
_LISTINGS: Final = 7  # as Databricks has it
_ANY_LISTINGS: Final = 2**31 - 1
_BYTES = re.compile(r"(\d+)\s*([kmgtp]?)(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


class EvolutionMode(Enum):
    """`cloudFiles.schemaEvolutionMode`: what a field that the schema does not know leads to."""

    ADD_NEW_COLUMNS = "addNewColumns"
    ADD_NEW_COLUMNS_WITH_TYPE_WIDENING = "addNewColumnsWithTypeWidening"
    RESCUE = "rescue"
    FAIL_ON_NEW_COLUMNS = "failOnNewColumns"
    NONE = "none"

    @property
    def adds_columns(self) -> bool:
        """Whether it becomes a column."""
        return self in {EvolutionMode.ADD_NEW_COLUMNS, EvolutionMode.ADD_NEW_COLUMNS_WITH_TYPE_WIDENING}


@dataclass(frozen=True, slots=True)
class AutoLoaderOptions:
    """The options of one cloudFiles read.

    `rescued_column` is None when there is no such column; `keeps_unknown` says whether unknown fields go there too
    (mode none drops them unless the column was asked for by name). `max_files` and `max_bytes` are per
    micro-batch, None when not set. `partition_columns` is None when they come from the path.
    `variant_column` takes whole records, None when they have columns. Only files count that were modified after
    `modified_after` and before `modified_before`, which Spark's SQL reads as timestamps. `clean` is None when files
    stay. With `allow_overwrites`, a file that was modified after it was read is another file.
    `backfill_seconds` is the time after which all folders are listed, None when that shall be each time;
    `listings` is the number of listings of an object store after which everything is listed, at once where files did
    not come in the order of their names; None when they do.
    A file counts when it was left alone for `settle_seconds`, None for what the session says.
    With `widens_types`, a column gets a wider type when files need it, as far as Delta can widen.
    `reader` holds what is passed on to Spark's reader of the format, in the user's spelling. `passed_over` are options
    that change no row, each with what becomes of it, in words.
    """

    path: str
    format: str
    mode: EvolutionMode
    infer_types: bool
    rescued_column: str | None
    keeps_unknown: bool
    schema_hints: str | None
    max_files: int | None
    max_bytes: int | None
    max_file_age: str
    include_existing: bool
    partition_columns: tuple[str, ...] | None
    variant_column: str | None = None
    modified_after: str | None = None
    modified_before: str | None = None
    clean: CleanSource | None = None
    allow_overwrites: bool = False
    backfill_seconds: int | None = None
    listings: int | None = None
    settle_seconds: int | None = None
    widens_types: bool = False
    reader: Mapping[str, str] = field(default_factory=dict)
    passed_over: Mapping[str, str] = field(default_factory=dict)

    def reader_option(self, key: str, default: str = "") -> str:
        """Returns an option of the format, its key compared without regard to case."""
        folded = key.casefold()
        return next((value for name, value in self.reader.items() if name.casefold() == folded), default)

    def reader_without(self, names: Container[str]) -> dict[str, str]:
        """Returns the options of the format but for some, whose names are given in lower case."""
        return {name: value for name, value in self.reader.items() if name.casefold() not in names}

    def reader_flag(self, key: str, *, default: bool) -> bool:
        """Returns a boolean option of the format."""
        return self.reader_option(key, str(default)).strip().casefold() == "true"

    @property
    def fails_on_unknown(self) -> bool:
        """Whether a field that the schema does not know stops the batch."""
        return self.mode.adds_columns or self.mode is EvolutionMode.FAIL_ON_NEW_COLUMNS

    @property
    def fails_on_wider(self) -> bool:
        """Whether a number that a wider type could hold stops the batch."""
        return self.widens_types and self.fails_on_unknown

    def reads_as_spark(self, *, given_schema: bool) -> bool:
        """Whether the rows are those of Spark's own reader: for a schema that was given, without rescued data.

        Not of JSON in an `encoding` or in whole files: there Spark takes a byte-order mark for a part of the first
        record, and numbers in UTF-16 for no text.
        """
        if not given_schema or self.rescued_column is not None or self.fails_on_unknown:
            return False
        encoded = self.reader_option("encoding") or self.reader_option("charset")
        return self.format != "json" or not (encoded or self.reader_flag("multiLine", default=False))

    @property
    def skips_corrupt(self) -> bool:
        """Whether files that cannot be read are left out."""
        return self.reader_flag("ignoreCorruptFiles", default=False)

    @property
    def skipping(self) -> dict[str, str]:
        """The options by which files that cannot be read, or are gone, are left out; empty where they fail a batch."""
        flags = ("ignoreCorruptFiles", "ignoreMissingFiles")
        return {name: "true" for name in flags if self.reader_flag(name, default=False)}

    @property
    def reader_format(self) -> str:
        """The name under which Spark finds the reader of the format."""
        return names.READERS.get(self.format, self.format)

    def without_rescued(self, columns: StructType) -> StructType:
        """Returns the columns of files that have not the name of the rescued data column."""
        name = (self.rescued_column or "").casefold()
        return StructType([field for field in columns.fields if field.name.casefold() != name])

    def only_rescued(self, columns: StructType) -> StructType:
        """Returns the column of files that has the name of the rescued data column: its values go there."""
        name = (self.rescued_column or "").casefold()
        return StructType([field for field in columns.fields if field.name.casefold() == name])

    @property
    def fixed_columns(self) -> bool:
        """Whether the columns are the same ones whatever the files hold."""
        return self.format in names.FIXED_COLUMNS

    @property
    def looks_at_files(self) -> bool:
        """Whether the columns of each file are compared with the schema before it is read."""
        if self.variant_column is not None or self.format not in names.SILENT:
            return False
        return self.mode is not EvolutionMode.NONE or self.keeps_unknown


def parse_options(read: StreamRead) -> AutoLoaderOptions:
    """Checks the options of a cloudFiles read; called each time a dataset function is called.

    Raises:
        DefinitionError: AUTO_LOADER_UNKNOWN_OPTION, AUTO_LOADER_UNSUPPORTED_OPTION,
            AUTO_LOADER_INVALID_OPTION, AUTO_LOADER_MISSING_OPTION, AUTO_LOADER_UNSUPPORTED_FORMAT,
            AUTO_LOADER_EVOLUTION_WITH_SCHEMA, AUTO_LOADER_SCHEMA_HINT_INVALID.
    """
    passed_over = _passed_over(read) if _flag(read, "cloudFiles.validateOptions", default=True) else {}
    _refuse_unsupported(read)
    path = read.path or read.option("path")
    if not path:
        raise DefinitionError("AUTO_LOADER_MISSING_OPTION", option="path", example=".load('path/of/the/files')")
    source_format = _format(read)
    variant = _variant_column(read, source_format)
    mode = _mode(read) if variant is None else EvolutionMode.NONE
    requested = _either(read, "rescuedDataColumn")
    rescued = requested
    if rescued is None and (read.schema is None or mode is EvolutionMode.RESCUE):
        rescued = DEFAULT_RESCUED_COLUMN
    partitions = read.option("cloudFiles.partitionColumns")
    return AutoLoaderOptions(
        path=path,
        format=source_format,
        mode=mode,
        infer_types=_flag(read, names.INFER_TYPES, default=_flag(read, names.LEGACY_INFER_TYPES, default=False)),
        rescued_column=rescued,
        keeps_unknown=requested is not None or mode is not EvolutionMode.NONE,
        schema_hints=usable_hints(read.option("cloudFiles.schemaHints"), rescued),
        max_files=_max_files(read),
        max_bytes=_max_bytes(read),
        max_file_age=_either(read, "maxFileAge") or NEVER_TOO_OLD,
        include_existing=_flag(read, "cloudFiles.includeExistingFiles", default=True),
        partition_columns=None if partitions is None else tuple(p.strip() for p in partitions.split(",") if p.strip()),
        variant_column=variant,
        modified_after=read.option("modifiedAfter"),
        modified_before=read.option("modifiedBefore"),
        clean=parse_clean_source(read, path),
        allow_overwrites=_flag(read, names.ALLOW_OVERWRITES, default=False),
        backfill_seconds=_backfill_seconds(read),
        listings=_listings(read),
        settle_seconds=_seconds(names.SETTLE_TIME, read.option(names.SETTLE_TIME)),
        widens_types=mode is EvolutionMode.ADD_NEW_COLUMNS_WITH_TYPE_WIDENING,
        reader=_reader_options(read, source_format),
        passed_over=passed_over,
    )


def session_settle_seconds(spark: SparkSession) -> int:
    """Returns the settle time, in seconds, of sources that do not say theirs; 10 where the session does not either.

    Raises:
        DefinitionError: AUTO_LOADER_INVALID_OPTION.
    """
    text = spark.conf.get(names.SETTLE_TIME_SETTING, _DEFAULT_SETTLE_TIME)
    return _seconds(names.SETTLE_TIME_SETTING, text) or 0


def parse_bytes(text: str) -> int | None:
    """Returns the bytes that `10g`, `64 MB` or `1048576` mean (units of 1024), None when it is not a size."""
    match = _BYTES.fullmatch(text.strip())
    if match is None:
        return None
    return int(match.group(1)) * 1024 ** _UNITS[match.group(2).lower()]


def _passed_over(read: StreamRead) -> dict[str, str]:
    """Returns the unknown options with what becomes of them; one that may be misspelt is an error."""
    found = {}
    known = {name.casefold() for name in (*names.SUPPORTED, *names.WITHOUT_EFFECT, *names.REFUSED)}
    accepted = (*names.SUPPORTED, *names.WITHOUT_EFFECT)
    bare = [name.removeprefix(names.PREFIX) for name in accepted]
    for option in read.options:
        folded = option.casefold()
        if not folded.startswith(names.PREFIX.casefold()) or folded in known or names.is_resource_tag(option):
            continue  # resource tags are refused under their own names
        if folded == names.LEGACY_INFER_TYPES.casefold():
            found[option] = f"it is read as '{names.INFER_TYPES}', which took its place"
        elif did_you_mean(option[len(names.PREFIX) :], bare):
            suggestion = did_you_mean(option, accepted)
            raise DefinitionError("AUTO_LOADER_UNKNOWN_OPTION", option=option, suggestion=suggestion)
        else:
            found[option] = "no option has that name or a similar one, so it changes nothing"
    return found


def _refuse_unsupported(read: StreamRead) -> None:
    tags = {option: names.REFUSED[names.RESOURCE_TAG] for option in read.options if names.is_resource_tag(option)}
    for option, (harmless, reason) in {**names.REFUSED, **tags}.items():
        value = read.option(option)
        if value is not None and value.strip().casefold() != harmless:
            secret = any(word in option.casefold() for word in names.SECRET_WORDS)
            raise DefinitionError(
                "AUTO_LOADER_UNSUPPORTED_OPTION", option=option, value="…" if secret else value, reason=reason
            )


def _format(read: StreamRead) -> str:
    value = read.option("cloudFiles.format")
    if value is None:
        raise DefinitionError(
            "AUTO_LOADER_MISSING_OPTION", option="cloudFiles.format", example=".option('cloudFiles.format', 'json')"
        )
    known = next((name for name in names.FORMATS if name.casefold() == value.casefold()), None)
    if known is None:
        supported, suggestion = ", ".join(names.FORMATS), did_you_mean(value, names.FORMATS)
        raise DefinitionError(
            "AUTO_LOADER_UNSUPPORTED_FORMAT", format=value, supported=supported, suggestion=suggestion
        )
    if known == "xml" and read.option("rowTag") is None:
        raise DefinitionError("AUTO_LOADER_MISSING_OPTION", option="rowTag", example=".option('rowTag', 'order')")
    return known


def _variant_column(read: StreamRead, source_format: str) -> str | None:
    name = read.option("singleVariantColumn")
    if name is None:
        return None
    expected = ""
    if source_format not in names.AS_VARIANT:
        expected = f"left out with the format {source_format}; {', '.join(names.AS_VARIANT)} can be read as VARIANT"
    elif read.schema is not None:
        expected = "left out where .schema(…) gives the columns"
    elif not name.strip():
        expected = "the name of a column"
    if expected:
        raise names.invalid("singleVariantColumn", name, expected)
    return name


def _mode(read: StreamRead) -> EvolutionMode:
    option = "cloudFiles.schemaEvolutionMode"
    value = read.option(option)
    if value is None:
        return EvolutionMode.ADD_NEW_COLUMNS if read.schema is None else EvolutionMode.NONE
    mode = next((mode for mode in EvolutionMode if mode.value.casefold() == value.casefold()), None)
    if mode is None:
        raise names.invalid(option, value, "one of " + ", ".join(mode.value for mode in EvolutionMode))
    if mode.adds_columns and read.schema is not None:
        raise DefinitionError("AUTO_LOADER_EVOLUTION_WITH_SCHEMA", mode=mode.value)
    return mode


def _flag(read: StreamRead, option: str, *, default: bool) -> bool:
    value = read.option(option)
    if value is None:
        return default
    if value.strip().casefold() not in {"true", "false"}:
        raise names.invalid(option, value, "true or false")
    return value.strip().casefold() == "true"


def _max_files(read: StreamRead) -> int | None:
    value = _either(read, "maxFilesPerTrigger")
    if value is None:
        return None
    if not value.strip().isdecimal() or int(value) < 1:
        raise names.invalid("cloudFiles.maxFilesPerTrigger", value, "a whole number of files, at least 1")
    return int(value)


def _max_bytes(read: StreamRead) -> int | None:
    value = _either(read, "maxBytesPerTrigger")
    if value is None:
        return None
    size = parse_bytes(value)
    if not size:
        expected = "a size such as 10g, 64m or a number of bytes"
        raise names.invalid("cloudFiles.maxBytesPerTrigger", value, expected)
    return size


def _backfill_seconds(read: StreamRead) -> int | None:
    listing = (read.option(names.USE_INCREMENTAL_LISTING) or "auto").strip()
    if listing.casefold() not in {"auto", "true", "false"}:
        raise names.invalid(names.USE_INCREMENTAL_LISTING, listing, "auto, true or false")
    text = read.option(names.BACKFILL_INTERVAL) or _DEFAULT_BACKFILL
    seconds = _seconds(names.BACKFILL_INTERVAL, text, least=1)
    return None if listing.casefold() == "false" else seconds


def _seconds(option: str, text: str | None, *, least: int = 0) -> int | None:
    if text is None:
        return None
    seconds = parse_duration(text)
    if seconds is None or seconds < least:
        raise names.invalid(option, text, "a duration such as '1 day'")
    return seconds


def _listings(read: StreamRead) -> int | None:
    if (read.option(names.USE_INCREMENTAL_LISTING) or "auto").strip().casefold() != "auto":
        return None
    return _LISTINGS if read.option(names.BACKFILL_INTERVAL) is None else _ANY_LISTINGS


def _either(read: StreamRead, option: str) -> str | None:
    """An option that is accepted with and without the prefix, as files written for either are."""
    prefixed = read.option(names.PREFIX + option)
    return read.option(option) if prefixed is None else prefixed


def _reader_options(read: StreamRead, source_format: str) -> dict[str, str]:
    dropped = {name.casefold() for name in (*names.CONSUMED, *names.REFUSED)}
    given = {
        name: value
        for name, value in read.options.items()
        if name.casefold() not in dropped and not name.casefold().startswith(names.PREFIX.casefold())
    }
    folded = {name.casefold() for name in given}
    if source_format == "json" and folded & {"charset", "encoding"}:
        given.setdefault("lineSep", "\n")  # where lines end, Spark finds out in UTF-8 only
    defaults = names.READER_DEFAULTS.get(source_format, {})
    return {**{name: value for name, value in defaults.items() if name.casefold() not in folded}, **given}

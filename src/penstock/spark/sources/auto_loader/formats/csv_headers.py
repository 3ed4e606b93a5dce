"""The text of CSV files: how it is cut into records, as Spark's own reader cuts it, and the header of each file.

Without `multiLine` a record is a line. With it, a line end inside of quotes belongs to the value, so the records are
found by a regular expression that follows Spark's tokenizer. All of its repetitions are possessive: Java runs those
in a loop, others by recursion, which a long record would end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own spelling

from penstock.graph.sql.names import literal
from penstock.spark._jvm import jvm, scala_map
from penstock.spark.sources.auto_loader.formats.encoded_text import decoded, decoded_file, has_utf16_mark, is_wide
from penstock.spark.sources.auto_loader.options.read_options import AutoLoaderOptions
from penstock.spark.sources.spark_sources import literal_path

# Options that say how bytes become records, or what becomes of a record as a whole.
_OF_FILES: Final = {"header", "mode", "columnnameofcorruptrecord", "enforceschema", "encoding", "charset"}
_OF_EMPTY_VALUES: Final = {"nullvalue", "emptyvalue"}
# Options that say how a record becomes values.
_OF_RECORDS: Final = {
    "sep",
    "delimiter",
    "quote",
    "escape",
    "chartoescapequoteescaping",
    "unescapedquotehandling",
    "comment",
    "multiline",
    "linesep",
    "emptyvalue",
    "ignoreleadingwhitespace",
    "ignoretrailingwhitespace",
}
_LINE_ENDS: Final = r"\r\n|\n|\r"

Header = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """The characters of a CSV format, empty where an option turns one off; `line_end` is None where Spark finds out."""

    separator: str
    quote: str
    escape: str
    escape_of_escape: str
    comment: str
    line_end: str | None
    multi_line: bool
    trims_before: bool
    stops_at_closing_quote: bool

    def records(self, text: str) -> str:
        """Returns SQL for the records of the text of a file: an array of strings without blank lines and comments."""
        if not self.multi_line:
            ends = _LINE_ENDS if self.line_end is None else re.escape(self.line_end)
            return f"filter(split({text}, {literal(ends)}), x -> {self.is_record('x')})"
        by_newline = self._found(text, self.line_end or "\n")
        if self.line_end is not None:
            found = by_newline
        else:
            with_returns = f"transform({by_newline}, x -> trim(TRAILING '\\r' FROM x))"
            found = f"IF(contains({text}, '\\n'), {with_returns}, {self._found(text, chr(13))})"
        return f"filter({found}, x -> {self.is_record('x')})"

    def is_record(self, line: str) -> str:
        """Returns SQL that says whether `line` holds a record: it is neither blank nor a comment."""
        comment = f" AND NOT startswith({line}, {literal(self.comment)})" if self.comment else ""
        return f"trim({line}) <> ''{comment}"

    def _found(self, text: str, line_end: str) -> str:
        return f"regexp_extract_all({text}, {literal(self.record_pattern(line_end))}, 1)"

    def record_pattern(self, line_end: str) -> str:
        """Returns the regular expression of a record and its line end; the first group is the record."""
        stops = (self.separator, line_end)
        plain, end = _until(stops), re.escape(line_end)
        value = plain
        if self.quote:
            blanks = f"[\\x00-\\x20&&[^{_in_class(stops)}]]*+" if self.trims_before else ""
            quote, closing = re.escape(self.quote), f"{re.escape(self.quote)}{plain}"
            value = f"(?:{blanks}{quote}{self._quoted(stops)}(?:{closing}|\\z)|{plain})"
        record = f"{value}(?:{re.escape(self.separator)}{value})*+"
        if self.comment:
            record = f"{re.escape(self.comment)}{_until((line_end,))}|{record}"
        return f"({record})(?:{end}|\\z)"

    def _quoted(self, stops: Sequence[str]) -> str:
        """The text between quotes, as far as the one that closes it."""
        quote, escape, second = self.quote, self.escape, self.escape_of_escape
        special = "".join(dict.fromkeys((quote, escape, second)))
        pairs = [second + escape] if second else []
        pairs += [escape + quote] if escape else []
        parts = [f"[^{_in_class(special)}]++", *map(re.escape, pairs), f"[^{_in_class(quote)}]"]
        if self.stops_at_closing_quote:
            ends = "|".join(map(re.escape, stops))
            parts.append(f"{re.escape(quote)}(?![\\x00-\\x20&&[^{_in_class(stops)}]]*+(?:{ends}|\\z))")
        return f"(?:{'|'.join(parts)})*+"


def csv_dialect(spark: SparkSession, options: AutoLoaderOptions) -> CsvDialect:
    """Returns the dialect that Spark's CSV reader would use, with its own defaults."""
    java = _csv_options(spark, options.reader)
    quote, escape = _character(java.quote()), _character(java.escape())
    second = java.charToEscapeQuoteEscaping()
    line_end = java.lineSeparator()
    return CsvDialect(
        separator=str(java.delimiter()),
        quote=quote,
        escape=escape,
        escape_of_escape=_character(second.get()) if second.isDefined() else "" if escape == quote else escape,
        comment=_character(java.comment()) if java.isCommentSet() else "",
        line_end=str(line_end.get()) if line_end.isDefined() else None,
        multi_line=bool(java.multiLine()),
        trims_before=bool(java.ignoreLeadingWhiteSpaceInRead()),
        stops_at_closing_quote=str(java.unescapedQuoteHandling()) == "STOP_AT_CLOSING_QUOTE",
    )


def header_values(
    spark: SparkSession, records: Sequence[str], options: AutoLoaderOptions
) -> dict[str, tuple[str, ...]]:
    """Returns the values of each record as Spark's tokenizer gives them: an empty one is an empty string."""
    settings = _csv_options(spark, header_settings(options)).asParserSettings()
    parser = jvm(spark).com.univocity.parsers.csv.CsvParser(settings)
    found = {record: parser.parseLine(record) for record in dict.fromkeys(records)}
    return {record: tuple(value or "" for value in values or ()) for record, values in found.items()}


def record_settings(options: AutoLoaderOptions) -> dict[str, str]:
    """Returns the options with which `from_csv` parses one record."""
    chosen = options.reader_without(_OF_FILES)
    # With multiLine and no line end, Spark would look for one in the record.
    return {**({} if options.reader_option("lineSep") else {"lineSep": "\n"}), **chosen, "mode": "PERMISSIVE"}


def header_settings(options: AutoLoaderOptions) -> dict[str, str]:
    """Returns the options with which a header is parsed: no name stands for NULL."""
    chosen = record_settings(options)
    return {name: value for name, value in chosen.items() if name.casefold() not in _OF_EMPTY_VALUES}


def value_settings(options: AutoLoaderOptions) -> dict[str, str]:
    """Returns the options with which `from_csv` parses values that `to_csv` has written with `WRITTEN`."""
    chosen = record_settings(options)
    settings = {name: value for name, value in chosen.items() if name.casefold() not in _OF_RECORDS}
    return {**settings, **_PLAIN, "emptyValue": options.reader_option("nullValue")}


_PLAIN: Final = {"sep": ",", "quote": '"', "escape": '"', "multiLine": "true", "lineSep": "\n"}

WRITTEN: Final = {
    **_PLAIN,
    "quoteAll": "true",
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
}
"""The options with which `to_csv` writes values that were already parsed as texts, whatever they hold."""


def _csv_options(spark: SparkSession, settings: Mapping[str, str]) -> Any:
    return jvm(spark).org.apache.spark.sql.catalyst.csv.CSVOptions(scala_map(spark, settings), False, "UTC")


def _character(character: str) -> str:
    return "" if character == "\x00" else str(character)


def _until(stops: Sequence[str]) -> str:
    """The longest text in which none of `stops` begins."""
    single = _in_class([stop for stop in stops if len(stop) == 1])
    anything = f"[^{single}]" if single else "[\\s\\S]"
    longer = "|".join(re.escape(stop) for stop in stops if len(stop) > 1)
    return f"(?:(?!{longer}){anything})*+" if longer else f"{anything}*+"


def _in_class(texts: Sequence[str]) -> str:
    """The characters of `texts` as they are spelled inside of brackets, where Java has more operators than Python."""
    characters = dict.fromkeys("".join(texts))
    return "".join(f"\\x{{{ord(character):x}}}" for character in characters)


@dataclass(frozen=True, slots=True)
class FileHeader:
    """The header of one file: its names, the record as the file spells it, whether a mark says that it is UTF-16."""

    names: Header
    record: str
    utf16: bool


def read_headers(spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]) -> dict[str, FileHeader]:
    """Returns the header of each file that has one, by path and in the order as given; runs one or two Spark jobs."""
    if is_wide(options) or options.reader_flag("multiLine", default=False):
        records = _of_whole_files(spark, options, files)
    else:
        records = _of_lines(spark, options, files)
        utf16 = [path for path, (_, marked) in records.items() if marked]
        if utf16:
            records |= _of_whole_files(spark, options, utf16)
    names = header_values(spark, [record for record, _ in records.values()], options)
    return {
        path: FileHeader(names[records[path][0]], *records[path])
        for path in files
        if path in records and names[records[path][0]]
    }


def distinct_headers(headers: Mapping[str, FileHeader]) -> tuple[Header, ...]:
    """Returns the different headers in the order in which they come."""
    return tuple(dict.fromkeys(header.names for header in headers.values()))


def is_mixed(headers: Mapping[str, FileHeader], options: AutoLoaderOptions) -> bool:
    """Whether Spark's reader cannot read such files under one schema, so that each is read by its own header."""
    names = distinct_headers(headers)
    unusual = any(unambiguous_names(header) != header for header in names)
    return len(names) > 1 or unusual or is_wide(options) or any(header.utf16 for header in headers.values())


def unambiguous_names(header: Header) -> Header:
    """Returns usable column names: an empty name becomes `_c<position>`, a repeated one gets its position."""
    folded = [name.casefold() for name in header]
    return tuple(
        f"_c{position}" if not name else f"{name}{position}" if name.casefold() in folded[:position] else name
        for position, name in enumerate(header)
    )


def _of_lines(spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]) -> dict[str, tuple[str, bool]]:
    settings = {key: options.reader_option(key) for key in ("lineSep",) if options.reader_option(key)}
    text = spark.read.options(**settings, **options.skipping).text([literal_path(path) for path in files])
    # Inside a task the id grows with the line, so the smallest one of a file's first split is its first line.
    rows = (
        decoded(text.withColumn("utf16", F.expr(has_utf16_mark(options))), options)
        .select("value", "utf16", "_metadata.file_path", "_metadata.file_block_start")
        .withColumn("line", F.monotonically_increasing_id())
        .where(f"file_block_start = 0 AND {csv_dialect(spark, options).is_record('value')}")
        .groupBy("file_path")
        .agg(F.min_by(F.struct("value", "utf16"), "line").alias("first"))
        .collect()
    )
    return _by_path(files, [(row.file_path, row.first.value, row.first.utf16) for row in rows])


def _of_whole_files(
    spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]
) -> dict[str, tuple[str, bool]]:
    reader = spark.read.format("text").options(wholetext="true", **options.skipping)
    text = reader.load([literal_path(path) for path in files])
    rows = (
        decoded_file(text.withColumn("utf16", F.expr(has_utf16_mark(options))), options)
        .selectExpr(f"get({csv_dialect(spark, options).records('value')}, 0)", "utf16", "_metadata.file_path")
        .toDF("record", "utf16", "file_path")
        .where("record IS NOT NULL")
        .collect()
    )
    return _by_path(files, [(row.file_path, row.record, row.utf16) for row in rows])


def _by_path(files: Sequence[str], rows: Sequence[tuple[str, str, bool]]) -> dict[str, tuple[str, bool]]:
    by_tail = {_tail(path): path for path in files}
    found = ((by_tail.get(_tail(unquote(uri))), record, utf16) for uri, record, utf16 in rows)
    return {path: (record.removeprefix("\ufeff"), utf16) for path, record, utf16 in found if path is not None}


def _tail(path: str) -> str:
    """The part that a path has in common with the URI that Spark reports: without scheme and authority slashes."""
    return path.partition(":")[2].lstrip("/") if ":" in path.partition("/")[0] else path.lstrip("/")

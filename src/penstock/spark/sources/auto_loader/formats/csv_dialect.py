"""How the text of a CSV file is cut into records, as Spark's own reader cuts it.

Without `multiLine` a record is a line. With it, a line end inside of quotes belongs to the value, so the records are
found by a regular expression that follows Spark's tokenizer. All of its repetitions are possessive: Java runs those
in a loop, others by recursion, which a long record would end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import SparkSession

from penstock.graph.sql_names import literal
from penstock.spark._jvm import jvm
from penstock.spark.sources.auto_loader.options.read_options import AutoLoaderOptions

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
    chosen = {name: value for name, value in options.reader.items() if name.casefold() not in _OF_FILES}
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
    java = jvm(spark)
    given = java.org.apache.spark.api.python.PythonUtils.toScalaMap(dict(settings))
    return java.org.apache.spark.sql.catalyst.csv.CSVOptions(given, False, "UTC")


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

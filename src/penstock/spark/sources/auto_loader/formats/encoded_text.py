"""Text files in another encoding than UTF-8: Spark's text source gives their bytes as they are."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own spelling

from penstock.graph.sql.names import literal
from penstock.spark.sources.auto_loader.options.read_options import AutoLoaderOptions

_TEXT = "value"
_BYTES: Final = f"CAST({_TEXT} AS BINARY)"
_MARK: Final = "\ufeff"


def decoded(text: DataFrame, options: AutoLoaderOptions) -> DataFrame:
    """Returns the rows of Spark's text source with their column `value` in UTF-8; it keeps `_metadata`."""
    encoding = _encoding(options)
    if encoding is None:
        return text
    return text.withColumn(_TEXT, F.expr(f"trim(LEADING {literal(_MARK)} FROM {_decoded(_BYTES, encoding)})"))


def decoded_file(text: DataFrame, options: AutoLoaderOptions) -> DataFrame:
    """Returns the rows of Spark's text source, each a whole file, with `value` in UTF-8 and without byte-order mark.

    A mark of UTF-16 counts without an `encoding` too, which no text in UTF-8 begins with.
    """
    encoding = _encoding(options)
    if _may_be_utf16(encoding):
        rest = _TEXT if encoding is None else _decoded(_BYTES, encoding)
        value = (
            f"CASE WHEN startswith({_BYTES}, X'FFFE') THEN {_decoded(f'substr({_BYTES}, 3)', 'UTF-16LE')} "
            f"WHEN startswith({_BYTES}, X'FEFF') THEN {_decoded(f'substr({_BYTES}, 3)', 'UTF-16BE')} "
            f"WHEN startswith({_BYTES}, X'EFBBBF') THEN substr({_TEXT}, 2) ELSE {rest} END"
        )
        return text.withColumn(_TEXT, F.expr(value))
    return decoded(text, options)


def is_wide(options: AutoLoaderOptions) -> bool:
    """Whether a line end takes several bytes in the encoding, so that a file cannot be cut into lines by its bytes."""
    return _folded(_encoding(options) or "").startswith(("utf16", "utf32"))


def has_utf16_mark(options: AutoLoaderOptions) -> str:
    """Returns SQL that says whether `value`, of Spark's text source, begins with the byte-order mark of UTF-16."""
    return f"substr({_BYTES}, 1, 2) IN (X'FFFE', X'FEFF')" if _may_be_utf16(_encoding(options)) else "false"


def _encoding(options: AutoLoaderOptions) -> str | None:
    """The encoding that the options name, None for UTF-8."""
    encoding = options.reader_option("encoding") or options.reader_option("charset")
    return None if _folded(encoding) in {"", "utf8"} else encoding


def _may_be_utf16(encoding: str | None) -> bool:
    return encoding is None or _folded(encoding).startswith("utf16")


def _folded(encoding: str) -> str:
    return encoding.casefold().replace("-", "").replace("_", "")


def _decoded(value: str, encoding: str) -> str:
    return f"decode({value}, {literal(encoding)})"

"""Messages as columns: decoded in Python, with what cannot be decoded in the rescued data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import arrow_udf
from pyspark.sql.functions import col as column_of
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StringType, StructField, StructType

from penstock.connectors.schema_registry.wire_format import Undecodable
from penstock.spark.failures.python_sources import failure_sql
from penstock.spark.sources.auto_loader.schema.sql_text import column, with_origin
from penstock.spark.sources.messages import message_place

_DECODED: Final = "__penstock_decoded"
_ROW: Final = "row"
_LEFT: Final = "left_out"
_WHY: Final = "why"


class Decoded(NamedTuple):
    """A message as its columns, and the JSON object of fields that have no place there."""

    row: dict[str, Any]
    left_out: str | None = None


class Decoder(Protocol):
    """How messages are decoded; it goes to the processes that do it, and can be pickled and compared."""

    def opened(self) -> Callable[[bytes], Decoded]:
        """Returns what decodes one message, and raises Undecodable. Called once in each process."""

    def __hash__(self) -> int:
        """It is a key of what is open in a process."""


def decoded_columns(
    messages: DataFrame,
    decoder: Decoder,
    schema: StructType,
    *,
    column_of_values: str,
    keep: Sequence[str],
    rescued_data_column: str,
    fail_fast: bool,
) -> DataFrame:
    """Returns the columns of `schema`, those to `keep`, and the rescued data: one row for each message.

    A message without a value is a row of NULLs. With `fail_fast` one that cannot be decoded fails the batch.

    Raises:
        AnalysisException: there is no such column.
    """
    kind = StructType([StructField(_ROW, schema), StructField(_LEFT, StringType()), StructField(_WHY, StringType())])
    # Not deterministic, which keeps the optimizer from decoding once more in a filter.
    decode = arrow_udf(_decode_with(decoder, kind), kind).asNondeterministic()  # type: ignore[call-overload]
    value = column(column_of_values)
    decoded = messages.withColumn(_DECODED, decode(column_of(value).cast("binary")))
    place = message_place(messages.columns)
    why = column(_DECODED, _WHY)
    if fail_fast:
        where = f"coalesce(to_json({place}), '')" if place else "''"
        failure = failure_sql("MESSAGE_UNDECODABLE", f"named_struct('place', {where}, 'detail', {why})")
        decoded = decoded.where(f"IF({why} IS NULL, true, CAST({failure} AS BOOLEAN))")
    whole = with_origin(f"to_json(named_struct('_corrupt_record', base64({value}), '_error', {why}))", place)
    left = column(_DECODED, _LEFT)
    rescued = f"CASE WHEN {why} IS NOT NULL THEN {whole} WHEN {left} IS NOT NULL THEN {with_origin(left, place)} END"
    return decoded.selectExpr(
        *(f"{column(_DECODED, _ROW, name)} AS {column(name)}" for name in schema.fieldNames()),
        *(column(name) for name in keep),
        f"{rescued} AS {column(rescued_data_column)}",
    )


def _decode_with(decoder: Decoder, kind: StructType) -> Callable[[pa.Array[Any]], pa.Array[Any]]:
    def decode(messages: pa.Array) -> pa.Array:  # type: ignore[type-arg]  # Spark evaluates them
        return decoded_messages(decoder, kind, messages)

    return decode


def decoded_messages(decoder: Decoder, kind: StructType, messages: pa.Array[Any]) -> pa.Array[Any]:
    """Returns for each message a struct of its row, the JSON of what was left out, and why it is undecodable.

    Raises:
        SourceFailure: the registry does not answer as it should.
    """
    target = to_arrow_type(kind, timezone="UTC")
    decode = _opened(decoder)
    found = [None if message is None else _outcome(decode, message) for message in messages.to_pylist()]
    try:
        return pa.array(found, type=target)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        # Some value has no place in its column, such as a time after the last year: reported message by message.
        return pa.array([_placed(outcome, target) for outcome in found], type=target)


@lru_cache(maxsize=64)
def _opened(decoder: Decoder) -> Callable[[bytes], Decoded]:
    return decoder.opened()


def _outcome(decode: Callable[[bytes], Decoded], message: bytes) -> dict[str, Any]:
    try:
        row, left_out = decode(message)
    except Undecodable as error:
        return {_WHY: str(error)}
    return {_ROW: row, _LEFT: left_out}


def _placed(outcome: dict[str, Any] | None, target: pa.DataType) -> dict[str, Any] | None:
    try:
        pa.array([outcome], type=target)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        return {_WHY: f"a value does not fit its column: {error}"}
    return outcome

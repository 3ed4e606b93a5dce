"""What is wrong with a `withWatermark` that Spark refuses."""

from __future__ import annotations

from pyspark.errors import AnalysisException, IllegalArgumentException
from pyspark.sql import DataFrame

from penstock.errors import DefinitionError, did_you_mean
from penstock.spark.failures.translate import reason_of

REFUSALS = (AnalysisException, IllegalArgumentException)
"""What Spark refuses a watermark with."""

_NO_INTERVAL = ("CANNOT_PARSE_INTERVAL", "INVALID_INTERVAL_FORMAT")


def watermark_error(
    frame: DataFrame, column: str, delay: str, refusal: AnalysisException | IllegalArgumentException
) -> DefinitionError | None:
    """Returns the error to raise in the place of one of the `REFUSALS`; None when it is about something else."""
    condition = refusal.getCondition() or ""
    if condition.startswith("UNRESOLVED_COLUMN"):
        known = frame.columns
        suggestion = did_you_mean(column, known, also=f"Its columns are {', '.join(known)}.")
        return DefinitionError("WATERMARK_COLUMN_NOT_FOUND", column=column, suggestion=suggestion)
    if condition == "EVENT_TIME_IS_NOT_ON_TIMESTAMP_TYPE":
        types = {name.casefold(): kind for name, kind in frame.dtypes}
        kind = types.get(column.strip("`").casefold(), "another type")
        return DefinitionError("WATERMARK_COLUMN_NOT_TIMESTAMP", column=column, type=kind)
    if isinstance(refusal, IllegalArgumentException) or condition.startswith(_NO_INTERVAL):
        reason = reason_of(refusal).removeprefix("requirement failed: ")
        return DefinitionError("WATERMARK_DELAY_INVALID", delay=delay, reason=reason)
    return None

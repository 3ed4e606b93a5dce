"""Which source streams the files, by preference Penstock's variant of Spark's, and how many of them at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from penstock.errors import DefinitionError
from penstock.spark import _jvm
from penstock.spark.accelerators.accelerator import FILE_LISTING
from penstock.spark.accelerators.own_classes import ARRIVING_FILES
from penstock.spark.sources.auto_loader.files.discovery import is_flat, is_glob, local_uri
from penstock.spark.sources.auto_loader.options.names import ALLOW_OVERWRITES, SETTLE_TIME
from penstock.spark.sources.auto_loader.options.read_options import (
    DEFAULT_MAX_FILES,
    AutoLoaderOptions,
    session_settle_seconds,
)
from penstock.spark.sources.spark_sources import arriving_files_options
from penstock.storage.stores.s3.settings import is_s3


def arriving_files(
    spark: SparkSession,
    source_format: str,
    settings: Mapping[str, str],
    options: AutoLoaderOptions,
    partitions: Sequence[str] | None,
) -> tuple[str, dict[str, str]]:
    """Returns the format and the options under which files of `source_format` are streamed.

    `partitions` are all columns that the folders of the source name, None if these are not known.
    The checkpoint is the same either way. Only the variant reports how many files wait, reads changed ones again, waits
    until files are whole, and leaves folders alone that have not changed.

    Raises:
        DefinitionError: AUTO_LOADER_UNSUPPORTED_OPTION, in a session that Penstock has not made.
    """
    if _jvm.has_format(spark, ARRIVING_FILES):
        own = arriving_files_options(source_format) | {"penstock.allowOverwrites": str(options.allow_overwrites)}
        settle = session_settle_seconds(spark) if options.settle_seconds is None else options.settle_seconds
        own["penstock.settleSeconds"] = str(settle)
        if options.backfill_seconds is not None and FILE_LISTING.applies():
            own["penstock.backfillSeconds"] = str(options.backfill_seconds)
        if options.listings is not None:
            own["penstock.listingsBetweenBackfills"] = str(options.listings)
        known = _known_partitions(spark, options, partitions)
        if known is not None:
            own["penstock.partitions"] = "\n".join(known)
        return ARRIVING_FILES, {**settings, **own}
    reason = "the session is not one that Penstock has made, and lacks the class that reads a file again, or later"
    if options.allow_overwrites:
        raise DefinitionError("AUTO_LOADER_UNSUPPORTED_OPTION", option=ALLOW_OVERWRITES, value="true", reason=reason)
    if options.settle_seconds:
        value = f"{options.settle_seconds} seconds"
        raise DefinitionError("AUTO_LOADER_UNSUPPORTED_OPTION", option=SETTLE_TIME, value=value, reason=reason)
    return source_format, dict(settings)


def _known_partitions(
    spark: SparkSession, options: AutoLoaderOptions, partitions: Sequence[str] | None
) -> Sequence[str] | None:
    """Returns the columns that folders name, None where only Spark knows: it lists everything for that, twice."""
    if options.reader_option("basePath"):
        return None
    if is_s3(options.path):
        return None if is_glob(options.path) else partitions
    local = local_uri(spark, options.path)
    return () if local is not None and is_flat(local) else None


def limit_options(options: AutoLoaderOptions, sizes: Sequence[int]) -> dict[str, str]:
    """Returns Spark's option for the batch limits; Spark takes files or bytes, not both.

    With both set, the bytes become a number of files, so small that no run of that many files among
    `sizes` (bytes of the known files, in the order in which they will be read) is larger; a file that is
    alone larger counts as nothing, because no limit can divide it. `maxFilesPerTrigger` always holds.
    """
    if options.max_bytes is None:
        return {"maxFilesPerTrigger": str(options.max_files or DEFAULT_MAX_FILES)}
    if options.max_files is None:
        return {"maxBytesPerTrigger": str(options.max_bytes)}
    return {"maxFilesPerTrigger": str(files_within(options.max_files, options.max_bytes, sizes))}


def files_within(max_files: int, max_bytes: int, sizes: Sequence[int]) -> int:
    """Returns the largest count up to `max_files` of which each run of `sizes` fits in `max_bytes`; at least 1."""
    divisible = [size for size in sizes if size <= max_bytes]
    fits = max_files
    start = total = 0
    for end, size in enumerate(divisible):
        total += size
        while total > max_bytes:
            fits = min(fits, end - start)
            total -= divisible[start]
            start += 1
    return max(1, fits)


def needs_sizes(options: AutoLoaderOptions) -> bool:
    """Whether `limit_options` looks at the sizes of the files."""
    return options.max_files is not None and options.max_bytes is not None

"""Which files the inference looks at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import SparkSession

from penstock.spark.sources.auto_loader.discovery import SourceFile
from penstock.spark.sources.auto_loader.options import AutoLoaderOptions, parse_bytes

# Databricks' names, so that a tuned pipeline stays tuned.
_FILES_CONF: Final = "spark.databricks.cloudFiles.schemaInference.sampleSize.numFiles"
_BYTES_CONF: Final = "spark.databricks.cloudFiles.schemaInference.sampleSize.numBytes"

_DEFAULT_FILES: Final = 1000
# A missed name costs one restart of the flow; a wrong type sends values to the rescued data. So types get more.
_DEFAULT_BYTES_NAMES: Final = 64 * 1024**2
_DEFAULT_BYTES_TYPES: Final = 512 * 1024**2


def sample(spark: SparkSession, options: AutoLoaderOptions, files: Sequence[SourceFile]) -> tuple[SourceFile, ...]:
    """Returns up to 1000 files of together at most 64 MiB (512 MiB when types are inferred), at least one.

    They are spread evenly over the listing, which is in order of age, and keep that order.
    """
    most_files = int(spark.conf.get(_FILES_CONF, str(_DEFAULT_FILES)) or _DEFAULT_FILES)
    default = _DEFAULT_BYTES_TYPES if options.infer_types else _DEFAULT_BYTES_NAMES
    most_bytes = parse_bytes(spark.conf.get(_BYTES_CONF, str(default)) or str(default)) or default
    total = sum(file.size for file in files)
    count = min(len(files), most_files)
    if total > most_bytes:
        count = max(1, min(count, len(files) * most_bytes // total))
    return tuple(files[position * len(files) // count] for position in range(count)) if count else ()

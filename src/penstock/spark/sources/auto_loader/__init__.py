"""Auto Loader: `format("cloudFiles")` on Spark's own file source."""

from penstock.spark.sources.auto_loader.connector import AutoLoader, load_files, only_format_of
from penstock.spark.sources.auto_loader.files.cleaning import Cleaned
from penstock.spark.sources.auto_loader.load import forget_inferred, load_auto_loader, store_inferred
from penstock.spark.sources.auto_loader.options.clean_source import CLEAN_SOURCE, CleanMode, without_cleaning
from penstock.spark.sources.auto_loader.schema.reports import describe_failure
from penstock.spark.sources.auto_loader.source import AutoLoaderSource, Evolution

__all__ = [
    "CLEAN_SOURCE",
    "AutoLoader",
    "AutoLoaderSource",
    "CleanMode",
    "Cleaned",
    "Evolution",
    "describe_failure",
    "forget_inferred",
    "load_auto_loader",
    "load_files",
    "only_format_of",
    "store_inferred",
    "without_cleaning",
]

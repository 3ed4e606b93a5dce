"""Auto Loader: `format("cloudFiles")` on Spark's own file source."""

from penstock.spark.sources.auto_loader.batch import load_files, only_format_of
from penstock.spark.sources.auto_loader.clean_source import CLEAN_SOURCE, CleanMode, without_cleaning
from penstock.spark.sources.auto_loader.cleaning import Cleaned
from penstock.spark.sources.auto_loader.connector import AutoLoader
from penstock.spark.sources.auto_loader.load import load_auto_loader
from penstock.spark.sources.auto_loader.options import EvolutionMode
from penstock.spark.sources.auto_loader.source import AutoLoaderSource, Evolution
from penstock.spark.sources.auto_loader.unknown_fields import describe_failure

__all__ = [
    "CLEAN_SOURCE",
    "AutoLoader",
    "AutoLoaderSource",
    "CleanMode",
    "Cleaned",
    "Evolution",
    "EvolutionMode",
    "describe_failure",
    "load_auto_loader",
    "load_files",
    "only_format_of",
    "without_cleaning",
]

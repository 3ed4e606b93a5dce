"""Which files are there now. The seam behind which another way to find files would stand."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote, unquote

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from penstock.errors import DefinitionError
from penstock.graph.sql_names import literal
from penstock.spark import _jvm
from penstock.spark.sources.auto_loader.flat_folder import flat_folder
from penstock.spark.sources.auto_loader.modified_times import time_options
from penstock.spark.sources.auto_loader.options import AutoLoaderOptions

# These decide which files a read sees; everything else decides how they are parsed.
_LISTING_OPTIONS = ("pathglobfilter", "recursivefilelookup", "basepath", "ignorecorruptfiles", "ignoremissingfiles")

_FILE_STATUS = re.compile(r"path=(.*?); isDirectory=false; length=(\d+);.*?modification_time=(\d+);")
_NOT_IN_URIS = re.compile(r"[^\w\-!.~'()*:@&=+$,;/\u00a1-\U0010ffff]|\s")
_GLOB = re.compile(r"[*?{\[]")
_WITH_TIME = re.compile(r"(\d+) (.*)", re.DOTALL)
_IDENTITY_WITH_TIME = "concat(unix_millis(_metadata.file_modification_time), ' ', _metadata.file_path)"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file: its path, its size in bytes, its modification time in epoch milliseconds."""

    path: str
    size: int
    modified_ms: int

    def identity(self, options: AutoLoaderOptions) -> str:
        """Returns what identifies this file: its path, with `allowOverwrites` its time too."""
        return self.as_it_was if options.allow_overwrites else self.path

    @property
    def as_it_was(self) -> str:
        """What identifies this file as it is: another value after it has been written to."""
        return f"{self.modified_ms} {self.path}"


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a source, oldest first, and the partition columns that their path spells."""

    files: tuple[SourceFile, ...]
    partitions: StructType


def list_files(spark: SparkSession, options: AutoLoaderOptions) -> Listing:
    """Lists the source's folder with Spark's rules: globs, hidden files, pathGlobFilter, modification times.

    Runs on the driver; Spark starts a job for it only when there are many folders. A local folder without folders is
    listed in a tenth of the time that Spark takes.

    Raises:
        DefinitionError: PATH_NOT_FOUND.
    """
    chosen = {name: value for name, value in options.reader.items() if name.casefold() in _LISTING_OPTIONS}
    chosen |= time_options(options)
    local = None if chosen else local_uri(spark, options.path)
    flat = None if local is None else flat_folder(local)
    if flat is not None:
        found = (SourceFile(f"file:{path}", size, modified) for path, size, modified in flat)
        return Listing(_by_age(found), StructType())
    try:
        frame = spark.read.format("text").options(**chosen).load(options.path)
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        if is_glob(options.path):
            return Listing((), StructType())
        raise DefinitionError("PATH_NOT_FOUND", path=options.path) from error
    # One string for the whole listing: a call into the JVM for each file would take seconds for thousands.
    text = _jvm.analyzed_plan(frame).relation().location().allFiles().mkString("\n")
    files = (SourceFile(path, int(size), int(modified)) for path, size, modified in _FILE_STATUS.findall(text))
    partitions = StructType([field for field in frame.schema if field.name != "value"])
    return Listing(_by_age(files), _chosen(partitions, options))


def _by_age(files: Iterable[SourceFile]) -> tuple[SourceFile, ...]:
    return tuple(sorted(files, key=lambda file: (file.modified_ms, file.path)))


def local_uri(spark: SparkSession, path: str) -> str | None:
    """Returns the URI of a path on this machine, as Hadoop spells it; None if it may be elsewhere or is a glob."""
    if is_glob(path) or (":" in path and not path.startswith("file:")):
        return None
    uri = _jvm.qualified_path(spark, path)
    return uri if uri.startswith("file:") else None


def is_glob(path: str) -> bool:
    """Returns whether a path may name several folders."""
    return _GLOB.search(path) is not None


def one_of_files_sql(files: Iterable[str]) -> str:
    """Returns SQL that says whether a row comes from one of the files, given by `SourceFile.identity`."""
    by_path, by_time = list[str](), list[str]()
    for identity in sorted(files):
        timed = _WITH_TIME.fullmatch(identity)
        if timed is None:
            by_path.append(literal(uri_of_path(identity)))
        else:
            by_time.append(literal(f"{timed[1]} {uri_of_path(timed[2])}"))
    found = [f"_metadata.file_path IN ({', '.join(by_path)})"] if by_path else []
    if by_time:
        found.append(f"{_IDENTITY_WITH_TIME} IN ({', '.join(by_time)})")
    return f"({' OR '.join(found)})" if len(found) > 1 else (found or ["false"])[0]


def uri_of_path(path: str) -> str:
    """Returns a path as `_metadata.file_path` has it: Hadoop's URI, encoded as `java.net.URI` says of its constructors.

    To encode the listed paths costs once what decoding the column would cost for each row.
    """
    return _NOT_IN_URIS.sub(lambda found: quote(found[0], safe=""), path)


def path_of_uri(uri: str) -> str:
    """Returns the path that a URL-encoded URI of Spark's logs and `input_file_name()` names."""
    return unquote(uri)


def _chosen(found: StructType, options: AutoLoaderOptions) -> StructType:
    if options.partition_columns is None:
        return found
    wanted = {name.casefold() for name in options.partition_columns}
    return StructType([field for field in found if field.name.casefold() in wanted])

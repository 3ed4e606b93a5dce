"""Which files are there now, and which of them the inference looks at.

The seam behind which another way to find files would stand.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.errors import DefinitionError
from penstock.graph.sql.names import literal
from penstock.spark import _jvm
from penstock.spark.sources.auto_loader.options.names import invalid
from penstock.spark.sources.auto_loader.options.read_options import AutoLoaderOptions, parse_bytes
from penstock.storage import local_path

# These decide which files a read sees; everything else decides how they are parsed.
_LISTING_OPTIONS = ("pathglobfilter", "recursivefilelookup", "basepath", "ignorecorruptfiles", "ignoremissingfiles")

_FILE_STATUS = re.compile(r"path=(.*?); isDirectory=false; length=(\d+);.*?modification_time=(\d+);")
_NOT_IN_URIS = re.compile(r"[^\w\-!.~'()*:@&=+$,;/\u00a1-\U0010ffff]|\s")
_GLOB = re.compile(r"[*?{\[]")
_WITH_TIME = re.compile(r"(\d+) (.*)", re.DOTALL)
_IDENTITY_WITH_TIME = "concat(unix_millis(_metadata.file_modification_time), ' ', _metadata.file_path)"

_MODIFIED: Final = "_metadata.file_modification_time"

_PLAIN_PATH = re.compile(r"file:(//)?/[^*?{}\[\]\\:]*")

# Databricks' names, so that a tuned pipeline stays tuned.
_FILES_CONF: Final = "spark.databricks.cloudFiles.schemaInference.sampleSize.numFiles"
_BYTES_CONF: Final = "spark.databricks.cloudFiles.schemaInference.sampleSize.numBytes"

_DEFAULT_FILES: Final = 1000
# A missed name costs one restart of the flow; a wrong type sends values to the rescued data. So types get more.
_DEFAULT_BYTES_NAMES: Final = 64 * 1024**2
_DEFAULT_BYTES_TYPES: Final = 512 * 1024**2


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


def _chosen(found: StructType, options: AutoLoaderOptions) -> StructType:
    if options.partition_columns is None:
        return found
    wanted = {name.casefold() for name in options.partition_columns}
    return StructType([field for field in found if field.name.casefold() in wanted])


def time_options(options: AutoLoaderOptions) -> dict[str, str]:
    """Returns the two options that were given, under the names that Spark's batch reader knows."""
    given = {"modifiedAfter": options.modified_after, "modifiedBefore": options.modified_before}
    return {name: value for name, value in given.items() if value is not None}


def check_times(spark: SparkSession, options: AutoLoaderOptions) -> None:
    """Checks the two timestamps; runs no job.

    Raises:
        DefinitionError: AUTO_LOADER_INVALID_OPTION.
    """
    for name, value in time_options(options).items():
        if spark.sql(f"SELECT try_cast({literal(value)} AS TIMESTAMP) IS NULL").head() == (True,):
            expected = "a timestamp such as 2026-01-31 08:00:00, without a zone in that of the session"
            raise invalid(name, value, expected)


def within_times(rows: DataFrame, options: AutoLoaderOptions) -> DataFrame:
    """Returns the rows of the files that were modified in the time that `options` give."""
    if options.modified_after is not None:
        rows = rows.where(f"{_MODIFIED} > CAST({literal(options.modified_after)} AS TIMESTAMP)")
    if options.modified_before is not None:
        rows = rows.where(f"{_MODIFIED} < CAST({literal(options.modified_before)} AS TIMESTAMP)")
    return rows


def flat_folder(path: str) -> list[tuple[str, int, int]] | None:
    """Returns path, bytes and modification time in epoch milliseconds of each file that Spark would list there.

    None where only Spark knows: another file system, a glob, folders inside, the log of a file sink, names that
    Hadoop spells in its own way, a folder that is not there. `path` is a URI.
    """
    files = []
    try:
        for entry in _files(path):
            if not entry.name.isascii():
                return None
            status = entry.stat()
            files.append((entry.path, status.st_size, status.st_mtime_ns // 1_000_000))
    except OSError:
        return None
    return files


def is_flat(path: str) -> bool:
    """Returns whether `flat_folder` lists the folder; that does not inspect each file."""
    try:
        return all(entry.name.isascii() for entry in _files(path))
    except OSError:
        return False


def _files(path: str) -> Iterator[os.DirEntry[str]]:
    """Yields the files; NotADirectoryError where it is not a folder of files only."""
    if not _PLAIN_PATH.fullmatch(path) or ".." in path:
        raise NotADirectoryError(path)
    with os.scandir(os.path.normpath(local_path(path))) as entries:
        for entry in entries:
            name = entry.name
            if name.startswith(".") or name.endswith("._COPYING_"):
                continue
            if name.startswith("_") and "=" not in name and "metadata" not in name:
                continue
            if name.startswith("_") or ":" in name or entry.is_dir():
                raise NotADirectoryError(path)
            yield entry


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

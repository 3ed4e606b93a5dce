"""What Penstock's Java classes report of the files of running queries: gone, left out, held back."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from penstock.spark._jvm import jvm
from penstock.storage import local_path


@dataclass(frozen=True, slots=True)
class MissingFiles:
    """URIs: `gone` are those that were not allowed to go, `left_out` those of sources with `ignoreMissingFiles`."""

    gone: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def missing_files(spark: SparkSession, checkpoint: str, progress: Mapping[str, Any]) -> MissingFiles:
    """Returns those of the batch that Spark's `progress` describes; none where Penstock's own source is not used."""
    found: list[str] = []
    for source in progress.get("sources") or ():
        start, end = source.get("startOffset"), source.get("endOffset")
        if start == end or not isinstance(end, Mapping) or "logOffset" not in end:
            continue
        with suppress(Py4JError, TypeError):  # TypeError: py4j took a class that is not there for a package
            files = jvm(spark).penstock.files.BatchFiles
            missing = files.gone(local_path(checkpoint), str(source.get("description")), int(end["logOffset"]))
            found.extend(map(str, missing))
    return MissingFiles(
        tuple(each.removeprefix("gone ") for each in found if each.startswith("gone ")),
        tuple(each.removeprefix("left ") for each in found if each.startswith("left ")),
    )


def listen_for_skipped_files(spark: SparkSession) -> None:
    """Begins to note such files, of all queries that run in this process; calling it again changes nothing.

    What other machines of a cluster leave out is in their logs only.
    """
    with suppress(Py4JError, TypeError):  # TypeError: py4j took a class that is not there for a package
        jvm(spark).penstock.files.SkippedFiles.listen()


def skipped_files(spark: SparkSession, *, gone: bool) -> list[str]:
    """Returns the URIs of the files that were noted, each once: of those that were gone, or else corrupt."""
    with suppress(Py4JError, TypeError):
        return list(map(str, jvm(spark).penstock.files.SkippedFiles.all(gone)))
    return []


def unsettled_files(spark: SparkSession, checkpoint: str) -> list[str]:
    """Returns the paths of the files that the sources of a query hold back, or held back when it ended."""
    with suppress(Py4JError, TypeError):  # TypeError: py4j took a class that is not there for a package
        return [local_path(unquote(str(uri))) for uri in jvm(spark).penstock.files.Settling.held(checkpoint)]
    return []

"""Which clients of object stores a pipeline needs: megabytes that other pipelines need not fetch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.config import PipelineConfig
from penstock.errors import PenstockError
from penstock.storage.stores.settings import AZURE_SETTING, GCS_SETTING, S3A_SETTING

S3_JARS: Final = "s3"


@dataclass(frozen=True, slots=True)
class _Client:
    """A locked jar set, how the paths begin that need it, and how its settings do."""

    jars: str
    paths: re.Pattern[str]
    settings: str


_CLIENTS: Final = (
    _Client(S3_JARS, re.compile(r"\bs3a?://"), S3A_SETTING),
    _Client("azure", re.compile(r"\babfss?://"), AZURE_SETTING),
    _Client("gcs", re.compile(r"\bgs://"), GCS_SETTING),
)


def object_store_jar_sets(
    pipeline: PipelineConfig, spark_conf: Mapping[str, str], *, script: Path | None = None
) -> tuple[str, ...]:
    """Returns the jar sets beside Spark's own that a session of `pipeline`, or of `script`, needs.

    Called before it starts. Before the code runs, only its text shows it: `s3://`, `s3a://`, `abfss://`, `abfs://` or
    `gs://` in one of its files or settings, or a setting of such a client.
    """
    texts = list(_texts(pipeline, spark_conf, script))
    return tuple(
        client.jars
        for client in _CLIENTS
        if any(key.startswith(client.settings) for key in spark_conf) or any(map(client.paths.search, texts))
    )


def _texts(pipeline: PipelineConfig, spark_conf: Mapping[str, str], script: Path | None) -> Iterator[str]:
    yield pipeline.storage
    for settings in (spark_conf, pipeline.configuration, pipeline.paths):
        yield from settings.values()
    with suppress(PenstockError, OSError):  # who loads the files says what is wrong with them
        files = pipeline.source_files() if script is None else [script]
        for path in [*files, *([pipeline.stand_ins] if pipeline.stand_ins else [])]:
            yield path.read_text(encoding="utf-8", errors="replace")

"""Whether a pipeline needs Hadoop's S3 client: 13 MB that nobody else shall have to fetch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from penstock.config import PipelineConfig
from penstock.errors import PenstockError
from penstock.storage.s3 import S3A_SETTING

S3_JARS: Final = "s3"
_S3_PATH: Final = re.compile(r"\bs3a?://")


def object_store_jar_sets(
    pipeline: PipelineConfig, spark_conf: Mapping[str, str], *, script: Path | None = None
) -> tuple[str, ...]:
    """Returns the jar sets beside Spark's own that a session of `pipeline`, or of `script`, needs.

    Called before it starts. Before the code runs, only its text can tell: `s3://` or `s3a://` in one of its files or
    settings, or a setting of S3A.
    """
    if any(key.startswith(S3A_SETTING) for key in spark_conf):
        return (S3_JARS,)
    return (S3_JARS,) if any(_S3_PATH.search(text) for text in _texts(pipeline, spark_conf, script)) else ()


def _texts(pipeline: PipelineConfig, spark_conf: Mapping[str, str], script: Path | None) -> Iterator[str]:
    yield pipeline.storage
    for settings in (spark_conf, pipeline.configuration, pipeline.paths):
        yield from settings.values()
    with suppress(PenstockError, OSError):  # who loads the files says what is wrong with them
        files = pipeline.source_files() if script is None else [script]
        for path in [*files, *([pipeline.stand_ins] if pipeline.stand_ins else [])]:
            yield path.read_text(encoding="utf-8", errors="replace")

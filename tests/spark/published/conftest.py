"""The pipelines of this folder, each copied to where it can run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.published.published_pipeline import PIPELINES, PublishedPipeline

Published = Callable[[str], PublishedPipeline]


@pytest.fixture
def published(spark: SparkSession, tmp_path: Path) -> Published:
    """Returns what copies a pipeline by the name of its folder."""

    def copy(name: str) -> PublishedPipeline:
        shutil.copytree(PIPELINES / name, tmp_path / name)
        return PublishedPipeline(tmp_path / name, spark)

    return copy

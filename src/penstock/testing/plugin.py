"""The plugin of pytest: the fixture `pipeline`, the pipeline of the project that a test is in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from penstock.testing.pipeline_under_test import PipelineUnderTest


@pytest.fixture
def pipeline(request: pytest.FixtureRequest) -> Iterator[PipelineUnderTest]:
    """The pipeline of the project that holds the test: the nearest folder upwards with a pipeline file.

    Each test has one of its own, with empty tables; Spark starts once. For another pipeline, or with options, open
    `penstock.testing.pipeline(…)`.
    """
    from penstock.config.files.locate import nearest_project
    from penstock.testing.pipeline_under_test import pipeline as opened

    with opened(nearest_project(Path(request.path).parent)) as under_test:
        yield under_test

"""The configuration under which a pipeline is tested: its own, on storage of the test, running without end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.config import (
    Library,
    LibraryKind,
    MaintenanceSettings,
    PipelineConfig,
    RetrySettings,
    Trigger,
    TriggerKind,
    load_project,
)
from penstock.errors import SourceLocation

AT_ONCE = Trigger(TriggerKind.PROCESSING_TIME)
"""A batch begins when the one before has ended."""
_SOURCE_FILES = frozenset({".py", ".sql", ".ipynb"})


def tested_config(
    path: Path, storage: str, configuration: Mapping[str, str], environment: str | None
) -> PipelineConfig:
    """Returns the configuration of the pipeline at `path`, changed for a test; see `pipeline`.

    Raises:
        ConfigError: what is wrong with the pipeline file.
    """
    if path.suffix in _SOURCE_FILES:
        config = _of_source_file(path, storage, configuration)
    else:
        config = load_project(path, environment=environment, overrides=configuration, storage=storage)
    return replace(
        config,
        continuous=True,
        trigger=AT_ONCE,
        retries=RetrySettings(max_flow_retries=0, first_delay=0.0, longest_delay=0.0),
        maintenance=MaintenanceSettings(automatic=False),
    )


def session_settings(config: PipelineConfig, spark: SparkSession) -> dict[str, str]:
    """Returns the settings of the pipeline that a running session takes, its parameters among them."""
    known = {key: value for key, value in config.spark_conf.items() if value not in config.references}
    wanted = {**known, **config.configuration}
    return {key: text for key, text in wanted.items() if not key.startswith("spark.") or spark.conf.isModifiable(key)}


def _of_source_file(path: Path, storage: str, configuration: Mapping[str, str]) -> PipelineConfig:
    file, place = path.absolute(), SourceLocation(str(path))
    return PipelineConfig(
        name=path.stem,
        directory=file.parent,
        file=place,
        libraries=(Library(file.name, LibraryKind.FILE, place),),
        storage=storage,
        trigger=AT_ONCE,
        configuration=configuration,
    )

"""Loading the pipeline file for a command, and the one thing that commands with Spark do first."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli.options import settings

if TYPE_CHECKING:
    from penstock.config import PipelineConfig


def open_project(
    directory: Path,
    *,
    environment: str | None = None,
    pipeline: str | None = None,
    storage: str | None = None,
    set_: Iterable[str] | None = None,
    scripts: bool = False,
) -> PipelineConfig:
    """Reads the pipeline file of `directory`; with `scripts` that may be a script's file as well.

    From then on this process reaches object stores with its settings, and creates files for whom it says.

    Raises:
        ConfigError: the folder, the file or one of its entries is wrong.
    """
    from penstock.config import load_project, load_script
    from penstock.storage.new_files import restrict_new_files
    from penstock.storage.s3 import use_s3_settings

    if scripts and directory.suffix == ".py":
        config = load_script(directory, environment=environment, pipeline=pipeline, storage=storage)
    else:
        config = load_project(
            directory, environment=environment, pipeline=pipeline, storage=storage, overrides=settings(set_)
        )
    use_s3_settings(config.resolve_spark_conf)
    restrict_new_files(config.shared_storage, config.storage_access)
    return config


def enter(config: PipelineConfig, *, short_lived: bool = True, writes: bool = False, data: Path | None = None) -> None:
    """Makes the project's folder the current one, and launches the JVM while Python loads its own modules.

    `data` is another folder to make the current one: that of the project on whose data this one's code is tried.
    The JVM inherits the folder, so a relative path in a pipeline (`./data/orders`) means the same wherever `penstock`
    was called from. Call it before anything of `penstock.runtime` is imported; `short_lived` as for the session.
    `writes` says that the command will take the storage's lock.

    Raises:
        StateError: STORAGE_LOCKED, if it `writes`.
    """
    from penstock.spark.session.launch import launch_ahead
    from penstock.storage import refuse_if_locked

    if writes:
        refuse_if_locked(config.storage)
    os.chdir(data or config.directory)
    launch_ahead(config, short_lived=short_lived)

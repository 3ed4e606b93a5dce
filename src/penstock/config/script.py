"""The settings under which a plain Structured Streaming script runs."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from penstock.config.load import absolute_location, load_project
from penstock.config.pipeline_config import PipelineConfig
from penstock.config.trigger import effective_trigger
from penstock.errors import ConfigError, SourceLocation

_STORAGE = ".penstock"


def load_script(
    file: Path | str, *, environment: str | None = None, pipeline: str | None = None, storage: str | None = None
) -> PipelineConfig:
    """Returns the settings of a script: those of the pipeline file beside it, if there is one, else the defaults.

    Each script has a storage of its own, `scripts/<name>` in that of the folder, unless `storage` names one. The
    script's name is that of its file. `environment` and `pipeline` choose in the pipeline file, as for `load_project`.

    Raises:
        ConfigError: SCRIPT_NOT_READABLE, or what `load_project` says of the pipeline file.
    """
    path = Path(os.path.abspath(os.path.expanduser(file)))
    if not path.is_file():
        raise ConfigError("SCRIPT_NOT_READABLE", path=file, reason="there is no such file")
    try:
        beside = load_project(path.parent, environment=environment, pipeline=pipeline)
    except ConfigError as missing:
        if missing.condition != "PIPELINE_NOT_FOUND" or environment or pipeline:
            raise
        beside = PipelineConfig(
            name=path.stem,
            directory=path.parent,
            file=SourceLocation(str(file)),
            storage=absolute_location(_STORAGE, path.parent),
            trigger=effective_trigger(None, continuous=False),
        )
    own = f"{beside.storage.rstrip('/')}/scripts/{path.stem}"
    return replace(
        beside,
        name=path.stem,
        schema=path.stem,
        file=SourceLocation(str(file)),
        libraries=(),
        storage=own if storage is None else absolute_location(storage, Path.cwd()),
    )

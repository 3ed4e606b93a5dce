"""Whether who connects to the driver has to know a secret."""

from __future__ import annotations

import os
import re
from pathlib import Path

from penstock.config import PipelineConfig
from penstock.errors import ConfigError
from penstock.spark.session.defaults import Machine, session_conf
from penstock.spark.session.setup.class_path import SPARK_HOME

_KEY = "spark.authenticate"
_LINE = re.compile(rf"^\s*{re.escape(_KEY)}[\s=:]+(\w+)\s*$", re.MULTILINE)


def unauthenticated(config: PipelineConfig) -> ConfigError | None:
    """Returns SPARK_NOT_AUTHENTICATED for a pipeline whose session takes messages from anybody; starts nothing."""
    machine = Machine.of(config.master)
    value = session_conf(machine, config.spark_conf).get(_KEY) or _of_installation(local=machine.local)
    if value.casefold() == "true":
        return None
    return ConfigError("SPARK_NOT_AUTHENTICATED", location=config.file, master=config.master)


def _of_installation(*, local: bool) -> str:
    """Returns what `spark-defaults.conf` says; a local session does not read it."""
    folder = Path(os.environ.get("SPARK_CONF_DIR") or SPARK_HOME / "conf")
    try:
        text = "" if local else (folder / "spark-defaults.conf").read_text("utf-8", "replace")
    except OSError:
        return ""
    return next((found.group(1) for found in _LINE.finditer(text)), "")

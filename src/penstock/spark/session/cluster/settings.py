"""Settings without which a session on a cluster is unsafe or waits for ever."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from penstock.config import PipelineConfig
from penstock.errors import ConfigError
from penstock.spark.session.defaults import Machine, session_conf
from penstock.spark.session.setup.known_jars import SPARK_HOME

_KEY = "spark.authenticate"
_LINE = re.compile(rf"^\s*{re.escape(_KEY)}[\s=:]+(\w+)\s*$", re.MULTILINE)

_FOLDERS: Final = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_IN_SPARK_CONF: Final = "spark.hadoop.yarn.resourcemanager."


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


def require_resource_manager(spark_conf: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> None:
    """Checks that a `yarn-site.xml` with at least one property, or `spark_conf`, says where the resource manager is.

    Raises:
        ConfigError: YARN_NOT_CONFIGURED.
    """
    folders = {name: environ[name] for name in _FOLDERS if environ.get(name)}
    if not folders:
        raise ConfigError("YARN_NOT_CONFIGURED", reason=f"neither {' nor '.join(_FOLDERS)} is set")
    if any(key.startswith(_IN_SPARK_CONF) for key in spark_conf):
        return
    if not any(_says_something(Path(folder) / "yarn-site.xml") for folder in folders.values()):
        where = " and ".join(f"{name} ({folder})" for name, folder in folders.items())
        raise ConfigError("YARN_NOT_CONFIGURED", reason=f"{where} has no yarn-site.xml with a property")


def _says_something(file: Path) -> bool:
    try:
        return re.search(rb"<property|<xi:include", file.read_bytes()) is not None
    except FileNotFoundError:
        return False
    except OSError:
        return True  # Hadoop says what is wrong with it

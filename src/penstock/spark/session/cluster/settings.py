"""Settings without which a session on a cluster is unsafe or waits for ever."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from penstock.config import PipelineConfig
from penstock.errors import ConfigError, SourceLocation
from penstock.spark.session.defaults import Machine, session_conf
from penstock.spark.session.setup.known_jars import SPARK_HOME

_KEY = "spark.authenticate"
_LINE = re.compile(rf"^\s*{re.escape(_KEY)}[\s=:]+(\w+)\s*$", re.MULTILINE)
_DEPLOY_MODE: Final = "spark.submit.deployMode"

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


def require_authentication(master: str, spark_conf: Mapping[str, str], *, file: SourceLocation | None = None) -> None:
    """Checks that only its executors talk to the driver of a standalone cluster of other machines.

    `spark.authenticate: false` says that it is meant. YARN and Kubernetes hand out a secret for each application.

    Raises:
        ConfigError: SPARK_NOT_AUTHENTICATED.
    """
    if not master.startswith("spark://") or Machine.of(master).loopback:
        return
    if not (spark_conf.get(_KEY) or _of_installation(local=False)):
        raise ConfigError("SPARK_NOT_AUTHENTICATED", location=file, master=master)


def require_own_driver(
    master: str,
    spark_conf: Mapping[str, str],
    *,
    file: SourceLocation | None = None,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Checks that this process is to be Spark's driver: no client of Spark Connect, and nowhere else.

    Raises:
        ConfigError: SPARK_CONNECT_UNSUPPORTED, DEPLOY_MODE_UNSUPPORTED.
    """
    for name, value, is_connect in (
        ("spark.master", master, _is_connect_url),
        ("spark.remote", spark_conf.get("spark.remote"), bool),
        ("spark.api.mode", spark_conf.get("spark.api.mode"), _names_connect),
        ("SPARK_REMOTE", environ.get("SPARK_REMOTE"), bool),
        ("SPARK_API_MODE", environ.get("SPARK_API_MODE"), _names_connect),
        ("SPARK_CONNECT_MODE", environ.get("SPARK_CONNECT_MODE"), "1".__eq__),
        ("SPARK_CONNECT_MODE_ENABLED", environ.get("SPARK_CONNECT_MODE_ENABLED"), bool),
    ):
        if value and is_connect(value):
            raise ConfigError("SPARK_CONNECT_UNSUPPORTED", location=file, setting=f"{name}={value}")
    if (mode := spark_conf.get(_DEPLOY_MODE, "client")) != "client":
        raise ConfigError("DEPLOY_MODE_UNSUPPORTED", location=file, mode=mode)


def _is_connect_url(master: str) -> bool:
    return master.casefold().startswith("sc://")


def _names_connect(mode: str) -> bool:
    return mode.casefold() == "connect"


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

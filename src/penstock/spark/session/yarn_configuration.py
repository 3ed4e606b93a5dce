"""Where YARN's resource manager is: without a configuration Hadoop asks 0.0.0.0 again and again, for ever."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from penstock.errors import ConfigError

_FOLDERS: Final = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_IN_SPARK_CONF: Final = "spark.hadoop.yarn.resourcemanager."


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

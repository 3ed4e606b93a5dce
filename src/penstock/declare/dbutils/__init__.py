"""The `dbutils` of pipeline files: what of Databricks' utilities means something outside of its workspace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.config import SecretReference
from penstock.declare.dbutils.files import Files
from penstock.declare.dbutils.refusing import Refusing
from penstock.declare.dbutils.secrets import Secrets
from penstock.declare.dbutils.widgets import Widgets

__all__ = ["Dbutils", "DbutilsFactory"]


class Dbutils(Refusing):
    """Stands in for `dbutils`; a name that is missing here is refused with its full name."""

    name = "dbutils"

    def __init__(self, conf: Any, root: Path, paths: Mapping[str, str], secrets: Mapping[str, SecretReference]) -> None:
        """`conf` is `spark.conf`, which answers widgets; the others are of the configuration."""
        self.fs = Files(root, paths)
        self.secrets = Secrets(secrets)
        self.widgets = Widgets(conf)
        self.library = _Library()


class DbutilsFactory:
    """The `DBUtils` of `pyspark.dbutils`: `DBUtils(spark)` is the `dbutils` that pipeline files have anyway."""

    def __init__(self, dbutils: object) -> None:
        self._dbutils = dbutils

    def __call__(self, spark: object = None) -> object:
        """Returns the pipeline's `dbutils`; the session does not matter."""
        return self._dbutils


class _Library(Refusing):
    """`dbutils.library`: packages are installed where penstock runs, so there is nothing to restart."""

    name = "dbutils.library"
    alternative = "Install the package where penstock runs"

    def restartPython(self) -> None:
        """Does nothing: `%pip` has not changed anything."""

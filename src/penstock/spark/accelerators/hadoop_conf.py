"""Makes Hadoop's settings light, which Spark copies for each query and sends along with many tasks.

Half of its 1,400 settings are YARN's, of which nothing asks in this process. Beside each setting Hadoop notes the file
it is from; the notes are copied as well, and when settings go into a task each note is compressed on its own, and
unpacked there. Nothing reads them but a listing for people that look for a mistake in such files. Together that is a
fifth of what a small batch takes.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from penstock.spark._jvm import jvm
from penstock.spark.accelerators.accelerator import HADOOP_CONF

_SETTINGS = "org.apache.hadoop.conf.Configuration"
_READ_FILES = ("org.apache.hadoop.mapred.JobConf", "org.apache.hadoop.fs.s3a.S3AFileSystem")
"""Hadoop would read all files again, and note them, when one of these is first used. The second is S3's."""

_OF_YARN = r"yarn\..*"


def prune_hadoop_conf(spark: SparkSession, *, local: bool) -> bool:
    """Has Hadoop forget from which file each setting of the session is, and on a `local` master those of YARN.

    Called once, when Spark has started. Returns whether it has: another version of Hadoop may keep them elsewhere.
    Never raises.
    """
    if not HADOOP_CONF.applies():
        return False
    with suppress(Py4JError):
        java = jvm(spark)
        for name in _READ_FILES:
            with suppress(Py4JError):
                java.java.lang.Class.forName(name)
        settings = spark.sparkContext._jsc.hadoopConfiguration()
        settings.size()  # reads them, if that has not happened yet
        _private(java, settings, "updatingResource").clear()
        if local:
            of_yarn = java.java.util.regex.Pattern.compile(_OF_YARN).asMatchPredicate()
            _private(java, settings, "properties").keySet().removeIf(of_yarn)
        return True
    return False


def _private(java: Any, settings: Any, name: str) -> Any:
    field = java.java.lang.Class.forName(_SETTINGS).getDeclaredField(name)
    field.setAccessible(True)
    return field.get(settings)

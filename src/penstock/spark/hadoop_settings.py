"""Makes Hadoop's settings light, which Spark copies for each query and sends along with many tasks.

Beside each of its 2,000 settings Hadoop notes the file it is from. The notes are copied with the settings, and when
these go into a task each note is compressed on its own, and unpacked there: a fifth of what a small batch takes.
Nothing reads them but a listing for people that look for a mistake in such files.
"""

from __future__ import annotations

from contextlib import suppress

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from penstock.spark._jvm import jvm

_SETTINGS = "org.apache.hadoop.conf.Configuration"
_NOTES = "updatingResource"
_READS_FILES = "org.apache.hadoop.mapred.JobConf"  # Hadoop would read all files again, and note them, when it is loaded


def forget_origins(spark: SparkSession) -> bool:
    """Has Hadoop forget from which file each setting of the session is; called once, when Spark has started.

    Returns whether it has: another version of Hadoop may have no such notes. Never raises.
    """
    with suppress(Py4JError):
        classes = jvm(spark).java.lang.Class
        classes.forName(_READS_FILES)
        settings = spark.sparkContext._jsc.hadoopConfiguration()
        settings.size()  # reads them, if nobody has asked for one yet
        notes = classes.forName(_SETTINGS).getDeclaredField(_NOTES)
        notes.setAccessible(True)
        notes.get(settings).clear()
        return True
    return False

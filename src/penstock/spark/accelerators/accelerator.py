"""What makes Spark, Delta, Hadoop or py4j faster by their private parts, and how each of it is switched off.

One table, read before PySpark is loaded. Each entry has a module of its name beside this one, or says where it is.
`penstock.accelerators.NAME: "off"` in `spark_conf` switches one off, PENSTOCK_ACCELERATORS=off in the environment all.
Rows, checkpoints and events are the same without them; `make test-plain` runs the tests so.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from penstock.errors import ConfigError, did_you_mean

PREFIX: Final = "penstock.accelerators."
EVERY: Final = "PENSTOCK_ACCELERATORS"

CHECKPOINT_INTERVAL: Final = "spark.databricks.delta.properties.defaults.checkpointInterval"
DEFAULT_CHECKPOINT_INTERVAL: Final = "50"
"""What a session sets, and what tells `log_checkpoints` that the user has not set another one."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A way to be faster that relies on what others may change.

    `gain` is what is faster and by how much, as measured; `relies_on` the private parts. `proven` are the versions with
    which it was tested, by the distribution's name: with others it is off.
    """

    name: str
    gain: str
    relies_on: str
    proven: Mapping[str, str] = field(default_factory=dict)

    def applies(self) -> bool:
        """Whether it is in force in this process: proven with what is installed, and not switched off."""
        return self.is_on() and all(_installed(name) == version for name, version in self.proven.items())

    def is_on(self) -> bool:
        """Whether it is not switched off: what a session's settings go by, before versions are known."""
        return self.name not in _off


_off: set[str] = set()


def choose(spark_conf: Mapping[str, str], environ: Mapping[str, str] = os.environ) -> None:
    """Switches accelerators off for the sessions that start from now on, as the settings say, and the others on.

    What PySpark or py4j was patched with by an earlier session of this process stays.

    Raises:
        ConfigError: SPARK_SETTING_INVALID for a name that no accelerator has, or a value other than `on` and `off`.
    """
    chosen = {key: value for key, value in spark_conf.items() if key.startswith(PREFIX)}
    for key, value in chosen.items():
        name = key.removeprefix(PREFIX)
        if name not in ACCELERATORS:
            expected = f"one of {', '.join(ACCELERATORS)} after {PREFIX}{did_you_mean(name, ACCELERATORS)}"
            raise ConfigError("SPARK_SETTING_INVALID", key=key, value=value, expected=expected)
        if value not in {"on", "off"}:
            raise ConfigError("SPARK_SETTING_INVALID", key=key, value=value, expected="on or off")
    every = environ.get(EVERY, "on")
    _off.clear()
    _off.update(name for name in ACCELERATORS if chosen.get(f"{PREFIX}{name}", every) == "off")


@functools.cache
def _installed(distribution: str) -> str:
    from importlib import metadata  # not before the JVM is launched, for which no version is asked

    return metadata.version(distribution)


CLASS_ARCHIVE: Final = Accelerator(
    "class_archive",
    gain="a session starts in 3.3 seconds instead of 4.8",
    relies_on="a class-data archive of the JVM, made for exactly its Java and jars (`session/setup/class_archive.py`)",
)
GATEWAY_LOOKUPS: Final = Accelerator(
    "gateway_lookups",
    gain="a call of a Java function is one round trip instead of seven",
    relies_on="`__getattr__` of py4j's views, packages and classes",
    proven={"py4j": "0.10.9.9"},
)
TCP_QUICKACK: Final = Accelerator(
    "tcp_quickack",
    gain="an answer of the JVM of over 8 kB comes 44 milliseconds earlier",
    relies_on="`connect_to_java_server` and `init_socket_from_python_server` of py4j's connections",
    proven={"py4j": "0.10.9.9"},
)
HADOOP_CONF: Final = Accelerator(
    "hadoop_conf",
    gain="a small batch takes a fifth less",
    relies_on="the fields `updatingResource` and `properties` of Hadoop's `Configuration`",
    proven={"pyspark": "4.2.0"},
)
KNOWN_TRANSACTIONS: Final = Accelerator(
    "known_transactions",
    gain="three Spark jobs less in each batch, which take as long as a small batch",
    relies_on="the lazy field `transactions` of Delta's `Snapshot`",
    proven={"delta-spark": "4.4.0"},
)
KNOWN_STATE: Final = Accelerator(
    "known_state",
    gain="three to five Spark jobs less when a table that has changed is read, replaced or merged into: 0.1 to 0.5 "
    "seconds",
    relies_on="the lazy fields `computedState` and `cachedState` of Delta's `Snapshot` "
    "(`java/penstock/delta/KnownState.java`, `SmallLog.java`)",
    proven={"pyspark": "4.2.0", "delta-spark": "4.4.0"},
)
LOG_CHECKPOINTS: Final = Accelerator(
    "log_checkpoints",
    gain="a second and more in one of 50 batches, in which Delta would write a checkpoint of its log",
    relies_on="`DeltaLog.checkpoint`, called in a thread beside the stream",
    proven={"delta-spark": "4.4.0"},
)
FILE_LISTING: Final = Accelerator(
    "file_listing",
    gain="a batch of Auto Loader lists what is new, not everything: its time does not grow with the folder. Files that "
    "are moved in need not wait for their settle time",
    relies_on="`ctime` and inotify as the JDK has them, and S3A's client "
    "(`sources/auto_loader/files/arriving.py`, `ChangedFolders.java`, `IncrementalS3Listing.java`)",
    proven={"pyspark": "4.2.0"},
)
READ_FILES_LOG: Final = Accelerator(
    "read_files_log",
    gain="the list of files that a stream has read is compacted, and read at a start, without a JSON parser",
    relies_on="the format of Spark's `FileStreamSourceLog`, and its field `fileEntryCache` "
    "(`sources/auto_loader/files/arriving.py`, `ReadFilesLog.java`)",
    proven={"pyspark": "4.2.0"},
)
TABLE_CHANGES: Final = Accelerator(
    "table_changes",
    gain="a materialized view is refreshed by what has changed in its inputs, instead of being computed again",
    relies_on="Delta's `CDCReader.changesToBatchDF` and `TahoeLogFileIndex`, and nodes of Spark's logical plans",
    proven={"pyspark": "4.2.0", "delta-spark": "4.4.0"},
)
JSON_INFERENCE: Final = Accelerator(
    "json_inference",
    gain="Spark infers the schema of JSON from the lines that can add to it, not from all",
    relies_on="how Spark infers types (`sources/auto_loader/formats/json_lines.py`, `SchemaInferenceFilter.java`)",
    proven={"pyspark": "4.2.0"},
)
ACCELERATORS: Final = {
    each.name: each
    for each in (
        CLASS_ARCHIVE,
        GATEWAY_LOOKUPS,
        TCP_QUICKACK,
        HADOOP_CONF,
        KNOWN_TRANSACTIONS,
        KNOWN_STATE,
        LOG_CHECKPOINTS,
        FILE_LISTING,
        READ_FILES_LOG,
        TABLE_CHANGES,
        JSON_INFERENCE,
    )
}
"""Every accelerator by its name."""

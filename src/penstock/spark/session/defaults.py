"""The settings that Penstock gives a session, one table, each with its reason. The user's own setting always wins."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from penstock.config.profiles import DRIVER_POD
from penstock.errors.secret_names import REDACTED_KEYS
from penstock.spark.accelerators.accelerator import CHECKPOINT_INTERVAL, DEFAULT_CHECKPOINT_INTERVAL, KNOWN_STATE
from penstock.spark.accelerators.own_classes import (
    AZURE_LOG_STORE,
    FILE_SYSTEM,
    GCS_LOG_STORE,
    KNOWN_STATE_EXTENSION,
    LOG_STORE,
    OBJECT_LOG_STORE,
    S3_CREDENTIALS,
    own_jars,
)
from penstock.spark.session.snapshot_partitions import SMALL, SNAPSHOT_PARTITIONS

DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"

# Keys whose values add up: the user's part joins ours instead of replacing it.
_JOINED = {"spark.sql.extensions": ",", "spark.driver.extraJavaOptions": " ", "spark.jars": ",", "spark.plugins": ","}


@dataclass(frozen=True, slots=True)
class Machine:
    """What a default may depend on: whether tasks run in the driver's own process, and on how many cores."""

    local: bool
    cores: int
    loopback: bool
    """Whether the master is on this machine: local, or an address of the loopback interface."""
    standalone: bool = False
    """Whether the master is Spark's own: only driver and executors read settings, and they get the jars first."""
    generates_secret: bool = False
    """Whether Spark makes the secret of `spark.authenticate` itself, and nothing else has to know it."""

    @staticmethod
    def of(master: str) -> Machine:
        """Returns the machine that a Spark master such as `local[*]` or `spark://host:7077` stands for."""
        if found := re.fullmatch(r"local(?:\[(\*|\d+)(?:,\s*\d+)?\])?", master):
            count = found.group(1) or "1"
            return Machine(True, _available_cores() if count == "*" else int(count), True, generates_secret=True)
        hosts = master.removeprefix("spark://").split(",") if master.startswith("spark://") else [""]
        near = master.startswith("local-cluster") or all(
            re.match(r"(127\.[\d.]+|localhost|\[::1\])(:|$)", host) for host in hosts
        )
        standalone = master.startswith(("spark://", "local-cluster"))
        return Machine(False, _available_cores(), near, standalone, generates_secret=master.startswith("k8s://"))


@dataclass(frozen=True, slots=True)
class Default:
    """One setting: its value, or a function of the machine that may answer None for "leave Spark's own"."""

    key: str
    value: str | Callable[[Machine], str | None]
    reason: str
    gives_way_to: str | None = None
    """A setting beside which this one may not stand; the user's own."""

    def value_on(self, machine: Machine) -> str | None:
        """Returns the value on `machine`, or None when Spark's own default is kept there."""
        return self.value if isinstance(self.value, str) else self.value(machine)


def _if_local(value: str) -> Callable[[Machine], str | None]:
    return lambda machine: value if machine.local else None


def _if_cluster(value: str) -> Callable[[Machine], str | None]:
    return lambda machine: None if machine.local else value


def _unless_managed(value: str) -> Callable[[Machine], str | None]:
    return lambda machine: value if machine.local or machine.standalone else None


def _unless_managed_with_own_classes(value: str) -> Callable[[Machine], str | None]:
    return lambda machine: _unless_managed(value)(machine) if own_jars() else None


def _with_own_classes(value: str) -> Callable[[Machine], str | None]:
    return lambda _machine: value if own_jars() else None


def _s3_credentials(_: Machine) -> str:
    chain = S3_CREDENTIALS if own_jars() else "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"
    of_s3a = "org.apache.hadoop.fs.s3a."
    return f"{of_s3a}TemporaryAWSCredentialsProvider,{of_s3a}SimpleAWSCredentialsProvider,{chain}"


def _if_loopback(value: str) -> Callable[[Machine], str | None]:
    return lambda machine: value if machine.loopback else None


def _extensions(_: Machine) -> str:
    return f"{DELTA_EXTENSION},{KNOWN_STATE_EXTENSION}" if own_jars() and KNOWN_STATE.is_on() else DELTA_EXTENSION


def _cores_if_local(machine: Machine) -> str | None:
    return str(machine.cores) if machine.local else None


_FEW_CORES = 4
_LATE_OPTIMIZATION = {"Invocation": 5_000, "MinInvocation": 600, "Compile": 15_000, "BackEdge": 40_000}
"""Java's own thresholds for its optimizing compiler; docs/decisions/optimized-code-later.md."""


def _java_options(machine: Machine) -> str:
    options = ["-XX:+UseParallelGC", "-XX:GCTimeRatio=19", "-XX:+ExitOnOutOfMemoryError"]
    if machine.local and machine.cores <= _FEW_CORES:
        options += [f"-XX:Tier4{name}Threshold={20 * calls}" for name, calls in _LATE_OPTIMIZATION.items()]
    return " ".join(options)


# Spark looks through the text of each plan: a look at the first letter saves a third of that time.
_REDACTED_TEXTS = (
    r"(?i)(?=[psta])(?:password|passwd|pwd|secret|token|sharedaccesskey|accountkey)\s*=\s*(?:\"(?:[^\"\\]|\\.)*\"|[^\s,;]+)"
    r"|AKIA[0-9A-Z]{16}"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)

DEFAULTS: tuple[Default, ...] = (
    # -- Delta
    Default(
        "spark.sql.extensions",
        _extensions,
        "Delta's SQL: MERGE, OPTIMIZE, DESCRIBE HISTORY; and the accelerator `known_state`",
    ),
    Default(
        "spark.sql.catalog.spark_catalog",
        "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "Delta tables by path and by name",
    ),
    Default(
        SNAPSHOT_PARTITIONS,
        SMALL,
        "Delta rebuilds a table's state in 50 tasks; each makes its own code, which costs more than the micro-batch. "
        "A run whose largest table has over 20,000 files takes one for each 20,000, up to 50",
    ),
    Default(
        CHECKPOINT_INTERVAL,
        DEFAULT_CHECKPOINT_INTERVAL,
        "at one commit a second, 10 would write a Parquet checkpoint every 10 seconds. With another value here a "
        "pipeline's new streaming tables take that one, and have none beside their flows",
    ),
    Default(
        "spark.databricks.delta.allFilesInCrc.enabled",
        "false",
        "Delta writes a table's files, up to 50, into the checksum of each commit and reads them only to check them; "
        "where the time zone is not UTC it does so in each commit, against the table's whole log",
    ),
    Default(
        "spark.databricks.delta.commitLock.enabled",
        _unless_managed("true"),
        "what a local disk answers when Delta asks it before each commit, with three copies of all settings of Hadoop",
    ),
    # -- Queries
    Default(
        "spark.sql.shuffle.partitions",
        _cores_if_local,
        "200 tasks and 200 state files a batch for two cores; a stateful flow keeps the number for ever",
    ),
    Default(
        "spark.sql.sources.parallelPartitionDiscovery.parallelism",
        _cores_if_local,
        "Spark looks at the files of a batch in as many tasks as there are files: 1 s for 1,000 files, and then 0.05",
    ),
    Default(
        "spark.sql.session.timeZone",
        "UTC",
        "windows, dates and timestamps without a zone come out alike on a laptop in any country and on a server",
    ),
    Default(
        "spark.sql.parquet.outputTimestampType",
        "TIMESTAMP_MICROS",
        "Spark's INT96 has no statistics, and other readers show its times before 1677 and after 2262 wrong",
    ),
    Default(
        "spark.sql.codegen.cache.maxEntries",
        "1000",
        "each flow compiles several classes; with 100 entries twenty flows compile theirs again in every batch",
    ),
    Default(
        "spark.sql.legacy.parameterSubstitution.constantsOnly",
        "true",
        "Delta's SQL parser loses the values of spark.sql(…, args=…); so Spark fills them in after parsing",
    ),
    Default(
        "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled",
        "false",
        "with Spark 4.2, a Python function over columns that come straight from a Delta or Parquet file hangs for ever",
    ),
    Default(
        "spark.scheduler.maxRegisteredResourcesWaitingTime",
        _if_cluster("0s"),
        "else a start on Kubernetes or YARN waits up to 30 seconds for executors, and cannot say why none comes",
        gives_way_to="spark.scheduler.minRegisteredResourcesRatio",
    ),
    Default("spark.locality.wait", _if_local("0s"), "all data is local; there is no better place to wait for"),
    Default("spark.scheduler.mode", "FAIR", "a backfill must not make the other flows of the pipeline wait"),
    # -- Streaming state and checkpoints
    Default(
        "spark.sql.streaming.stateStore.providerClass",
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        "state outside the heap; the choice is kept for ever in a checkpoint, so it is made for growth",
    ),
    Default(
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
        "true",
        "a batch uploads its changes, not a snapshot; also what makes a damaged snapshot repairable",
    ),
    Default(
        "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage",
        "true",
        "else each state store takes native memory of its own until the system ends the process",
    ),
    Default(
        "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB",
        "512",
        "the bound for all state stores of one process together",
    ),
    Default(
        "spark.sql.streaming.queryEvolution.enableSourceEvolution",
        "true",
        "sources have names in the checkpoint, so a source can be added or moved and the state is kept",
    ),
    Default("spark.sql.streaming.offsetLog.formatVersion", "2", "the format that holds the names of sources"),
    Default(
        "spark.sql.streaming.numRecentProgressUpdates",
        "10",
        "the event log keeps every progress; 100 a flow in the driver's memory are of no use",
    ),
    Default(
        "spark.sql.streaming.pollingDelay",
        "50ms",
        "looking for new data every 10 ms keeps a laptop's core awake; a batch takes far longer than 50 ms",
    ),
    Default(
        "spark.sql.streaming.checkpointFileManagerClass",
        _unless_managed("org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"),
        "on a local disk, Hadoop's other interface starts six processes to rename one file: 33 ms instead of 1",
    ),
    Default(
        "spark.hadoop.fs.file.impl",
        _unless_managed_with_own_classes(FILE_SYSTEM),
        "Hadoop's own starts a process or two for each file that it creates: 11 to 13 ms, several times a batch",
    ),
    Default(
        "spark.delta.logStore.file.impl",
        _with_own_classes(LOG_STORE),
        "Delta's own looks at each file of a table's log in each batch, 40 ms for 1,000 commits; and its commits could "
        "replace another writer's",
        gives_way_to="spark.delta.logStore.class",
    ),
    # -- Object stores
    Default("spark.hadoop.fs.s3.impl", "org.apache.hadoop.fs.s3a.S3AFileSystem", "s3:// is s3a://, as on Databricks"),
    Default(
        "spark.hadoop.fs.s3a.aws.credentials.provider",
        _s3_credentials,
        "the keys of the settings, then the AWS SDK's own chain, which reads files of profiles again when they change; "
        "S3A's leaves out profiles and web identities",
    ),
    Default(
        "spark.hadoop.fs.s3a.retry.throttle.limit",
        "6",
        "a store that stays busy (503) is reported after half a minute to two (a file's status waited 31 s, a "
        "listing 111 s), and a flow is retried; Hadoop's own is 20, and each pause is twice the one before: days",
    ),
    *(
        Default(
            f"spark.delta.logStore.{scheme}.impl",
            _with_own_classes(OBJECT_LOG_STORE),
            "Delta's own lets a commit replace that of another process; this one has the store refuse it",
            gives_way_to="spark.delta.logStore.class",
        )
        for scheme in ("s3", "s3a")
    ),
    *(
        Default(
            f"spark.delta.logStore.{scheme}.impl",
            _with_own_classes(log_store),
            "Delta's own takes a commit whose response was lost for another writer's; this one reads it back",
            gives_way_to="spark.delta.logStore.class",
        )
        for scheme, log_store in (("abfs", AZURE_LOG_STORE), ("abfss", AZURE_LOG_STORE), ("gs", GCS_LOG_STORE))
    ),
    Default(
        "spark.hadoop.fs.azure.io.retry.max.retries",
        "6",
        "a wrong address is told after a minute, and a flow is retried anyway; Hadoop's own is 30",
    ),
    Default(
        "spark.hadoop.fs.gs.impl",
        "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem",
        "Google's connector: Hadoop's own, the default of Hadoop 3.5, cannot be given the address of another server",
    ),
    Default(
        "spark.hadoop.fs.AbstractFileSystem.gs.impl",
        "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFS",
        "as spark.hadoop.fs.gs.impl, for Spark's checkpoints",
    ),
    Default(
        "spark.hadoop.fs.gs.auth.type",
        "APPLICATION_DEFAULT",
        "Google's own chain, which ends at the service account of the machine; the connector's begins and ends there",
    ),
    *(
        Default(
            f"spark.hadoop.fs.gs.{name}",
            str(megabytes << 20),
            f"Hadoop's own, {megabytes}m, as a number: Google's connector reads no other",
        )
        for name, megabytes in (
            ("block.size", 64),
            ("inputstream.inplace.seek.limit", 8),
            ("inputstream.min.range.request.size", 2),
            ("outputstream.buffer.size", 8),
            ("rewrite.max.chunk.size", 512),
        )
    ),
    # -- Process
    Default("spark.driver.memory", "2g", "room for a few dozen flows; Spark's 1g is short for Delta's snapshots"),
    Default(
        "spark.driver.extraJavaOptions",
        _java_options,
        "least processor time on few cores: the collector, and there optimized code after 20 times the calls only "
        "(of a run of seconds, Java's compiler takes a third); the heap grows when a twentieth of the time goes to the "
        "collector, not a hundredth: a third less memory; and a JVM out of memory ends at once instead of half working",
    ),
    Default("spark.sql.catalogImplementation", "in-memory", "no metastore_db in the current folder"),
    Default("spark.ui.enabled", "false", "an open port without a login; `penstock ui` shows the pipeline"),
    Default("spark.ui.showConsoleProgress", "false", "the terminal belongs to Penstock's own progress"),
    Default("spark.ui.retainedJobs", "50", "kept in memory even without the UI; a pipeline runs thousands of jobs"),
    Default("spark.ui.retainedStages", "50", "as spark.ui.retainedJobs"),
    Default("spark.ui.retainedTasks", "1000", "as spark.ui.retainedJobs"),
    Default("spark.sql.ui.retainedExecutions", "50", "as spark.ui.retainedJobs"),
    Default("spark.driver.host", _if_loopback("127.0.0.1"), "nobody else on the network needs to reach the driver"),
    Default(
        "spark.kubernetes.driver.pod.name",
        lambda machine: None if machine.local else os.environ.get(DRIVER_POD),
        "a driver that runs in a pod owns its executors: Kubernetes removes them with it",
    ),
    Default("spark.driver.bindAddress", _if_loopback("127.0.0.1"), "as spark.driver.host"),
    # -- Secrets
    Default(
        "spark.authenticate",
        lambda machine: "true" if machine.generates_secret else None,
        "else the driver deserializes what any user of this machine sends to its port; Spark generates a secret for "
        "each session. YARN may need it for its shuffle service too, and standalone masters need one secret everywhere",
    ),
    Default(
        "spark.redaction.regex",
        REDACTED_KEYS,
        "Spark's own list misses Kafka's sasl.jaas.config and storage account keys",
    ),
    Default("spark.redaction.string.regex", _REDACTED_TEXTS, "passwords inside plans and log lines"),
)


def session_conf(machine: Machine, chosen: Mapping[str, str], extra: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
    """Returns the whole configuration of a session, sorted by key: the defaults, `extra`, and `chosen` above both.

    A few keys hold lists (`spark.sql.extensions`, `spark.driver.extraJavaOptions`, `spark.jars`,
    `spark.plugins`): there `chosen` is added to ours.
    """
    conf = {
        default.key: value
        for default in DEFAULTS
        if default.gives_way_to not in chosen and (value := default.value_on(machine)) is not None
    }
    conf.update(extra)
    for key, value in chosen.items():
        separator, ours = _JOINED.get(key), conf.get(key, "")
        if separator is None:
            conf[key] = value
        else:
            theirs = value.split(separator)
            conf[key] = separator.join(
                [*(each for each in ours.split(separator) if each and each not in theirs), value]
            )
    return dict(sorted(conf.items()))


def _available_cores() -> int:
    # A container or `taskset` may allow fewer than the machine has.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

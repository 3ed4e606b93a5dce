"""The settings that `penstock tune` advises on: why each matters, how the advice is computed, and by whose rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_SPARK: Final = "https://spark.apache.org/docs/latest/"
_CONFIGURATION: Final = f"{_SPARK}configuration.html"
_KAFKA: Final = f"{_SPARK}streaming/structured-streaming-kafka-integration.html"
_STREAMING: Final = f"{_SPARK}streaming/apis-on-dataframes-and-datasets.html"
_TUNING: Final = f"{_SPARK}tuning.html"
_DYNAMIC: Final = f"{_SPARK}job-scheduling.html#dynamic-resource-allocation"
_STATEFUL: Final = "https://docs.databricks.com/structured-streaming/stateful-streaming"
_HOTSPOT: Final = (
    "https://docs.oracle.com/en/java/javase/17/gctuning/factors-affecting-garbage-collection-performance.html"
)

_STATE_MEMORY: Final = "https://github.com/apache/spark/blob/master/sql/catalyst/src/main/scala/org/apache/spark/sql/internal/SQLConf.scala"
_FAILURES: Final = (
    "https://github.com/apache/spark/blob/master/core/src/main/scala/org/apache/spark/TaskEndReason.scala"
)

_CONF: Final = "spark_conf in penstock.yml"
_OPTION: Final = "an option of the read"


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting.

    Attributes:
        why: what goes wrong with another value, a sentence.
        formula: how the advised value is computed; thresholds that are ours are called so.
        source: the documentation that the formula is from.
        says: what of the formula that documentation says, by stored copies and excerpts that were read on 2026-11-26.
        where: where the value is set.
    """

    why: str
    formula: str
    source: str
    says: str
    where: str = _CONF


SETTINGS: Final[Mapping[str, Setting]] = {
    "spark.sql.shuffle.partitions": Setting(
        "Each partition is a task in every batch, and of a stateful flow a file of state; with fewer partitions than "
        "cores some cores are idle.",
        "cores x k, with the smallest k of 1, 2, 3 (Databricks advises one or two partitions a core for stateful "
        "queries, Spark's tuning guide two or three tasks a core) for which a partition has at most 100,000 rows of a "
        "batch and 1,000,000 rows of state (ours). Between that and 3 a core it stays as it is.",
        f"{_STATEFUL}, {_TUNING}#level-of-parallelism",
        "Databricks: 1-2 times the cores for stateful queries. Spark: 2-3 tasks for each core.",
    ),
    "minPartitions": Setting(
        "Spark reads each partition of a topic in one task: with fewer of them than cores some cores are idle.",
        "the number of cores, if the topics have fewer partitions and one has at least 50,000 rows in a batch (ours).",
        _KAFKA,
        "By default a task for each partition of the topics; with a larger minPartitions, large ones are split, into "
        "about that many tasks.",
        _OPTION,
    ),
    "maxOffsetsPerTrigger": Setting(
        "Without a limit the first batch after an outage takes everything that waits; with one that is too small the "
        "flow never catches up.",
        "the rows that a batch of the target length takes, by a line through the measured batches: (target - fixed) / "
        "time per row, to two digits, and at most 10 times the largest batch so far (ours). The target is the trigger "
        "interval, else 10 seconds for a run that continues and 60 for one that stops (ours); it must allow 1.2 times "
        "the rows that arrive in the busiest hour (ours). It stays as it is within a factor of 2, and unset while the "
        "longest outage so far makes a batch of at most 2 targets (ours).",
        _KAFKA,
        "A limit of the offsets for each trigger interval, which the topics' partitions share in proportion; none by "
        "default.",
        _OPTION,
    ),
    "maxFilesPerTrigger": Setting(
        "Without a limit the first batch after an outage takes all files that wait; with one that is too small the "
        "flow never catches up, in many short batches.",
        "as maxOffsetsPerTrigger, divided by the rows of a file in the newest batches.",
        f"{_STREAMING}#input-sources",
        "The largest number of new files in a trigger; no limit by default.",
        _OPTION,
    ),
    "spark.driver.memory": Setting(
        "A heap that is too small spends its time in garbage collection, and then ends the run; one that is too large "
        "is paid for.",
        "the heap whose old generation is 60 % full (ours) with what it holds now, in steps of 512 MiB, at least "
        "Spark's 1g; the old generation is two thirds of a heap by the default of the parallel collector (NewRatio=2), "
        "which sessions of Penstock use. More than now where the old generation is over 85 % full or collection takes "
        "over 10 % of the time (ours); less only if half of it is enough after a day.",
        f"{_CONFIGURATION}, {_HOTSPOT}",
        "Oracle: NewRatio is the ratio of the old generation to the young one. A JVM 17 with the parallel collector "
        "reports 2 for it.",
    ),
    "spark.executor.memory": Setting(
        "State on the heap that does not fit ends the executor.",
        "300 MiB + 2 versions (spark.sql.streaming.maxBatchesToRetainInMemory) x state of an executor / "
        "(1 - spark.memory.fraction): state of "
        "HDFSBackedStateStoreProvider is in the part of the heap that Spark leaves to user objects. In steps of "
        "512 MiB; it stays as it is where it is larger.",
        f"{_TUNING}#memory-management-overview, {_STATE_MEMORY}",
        "The tuning guide: spark.memory.fraction, 0.6, is of the heap without 300 MiB, and the rest is for user data. "
        "SQLConf: two versions of state are kept in memory by default. That state is user data is ours.",
    ),
    "spark.executor.memoryOverhead": Setting(
        "RocksDB's memory is outside of the heap: a container that is larger than heap and overhead is killed.",
        "spark.executor.minMemoryOverhead, Spark's least, and spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB "
        "(their sum is ours). Spark's own is spark.executor.memoryOverheadFactor of spark.executor.memory, and at "
        "least that minimum.",
        f"{_CONFIGURATION}, {_STREAMING}#rocksdb-state-store-memory-management",
        "The factor is 0.1, the minimum 384m. The bound of RocksDB, 500 MB, is for all state stores of a machine, and "
        "only with boundedMemoryUsage.",
    ),
    "spark.dynamicAllocation.enabled": Setting(
        "It pays where executors are idle for longer than spark.dynamicAllocation.executorIdleTimeout; between short "
        "batches they never are, and are only added.",
        "true if the pause between batches is longer than that timeout, and the busiest hour needs at least twice the "
        "executors of the median one (ours).",
        _DYNAMIC,
        "An executor is removed when it was idle for longer than executorIdleTimeout, 60s by default.",
    ),
    "spark.dynamicAllocation.minExecutors": Setting(
        "With fewer than it usually needs, each batch waits for executors.",
        "what the median hour needs: executors now x busy time of all flows / (1 hour x 0.7) (the 70 % are ours; rates "
        "are taken to grow with the executors).",
        _DYNAMIC,
        "Nothing of the calculation, which is ours.",
    ),
    "spark.dynamicAllocation.maxExecutors": Setting(
        "Without a bound a backlog takes the whole cluster.",
        "what the busiest hour needs, as spark.dynamicAllocation.minExecutors.",
        _DYNAMIC,
        "Nothing of the calculation, which is ours.",
    ),
    "spark.task.maxFailures": Setting(
        "A task that was lost with its executor this often in a row fails the batch.",
        "the smallest number of at least Spark's 4 for which less than one batch in 100 months fails (ours), if "
        "executors are lost as often as measured and a task takes as long as a batch: an upper bound, as Spark does "
        "not count losses that it knows are not the task's fault.",
        f"{_CONFIGURATION}, {_FAILURES}",
        "A task that fails this often in a row ends its job; 4 by default. TaskEndReason: failures that are unrelated "
        "to the task, as of an executor that was killed, need not count. The probability is ours.",
    ),
    "spark.decommission.enabled": Setting(
        "With it Spark tries to shut down an executor gracefully; without it the tasks are lost, and run again.",
        "true once an executor was lost during a run (ours).",
        _CONFIGURATION,
        "With decommission enabled, Spark does its best to shut down the executor gracefully.",
    ),
    "spark.storage.decommission.enabled": Setting(
        "A decommissioned executor hands its shuffle files on; without that the stages that wrote them run again.",
        "true once an executor was lost during a run (ours).",
        _CONFIGURATION,
        "With it, an executor that is decommissioned moves its shuffle blocks to another one.",
    ),
}
"""The settings by name, in the order in which they are printed."""

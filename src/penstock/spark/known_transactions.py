"""Spares Delta the look through a table's whole log before each batch.

Delta's sink asks the table for the last transaction of the query, to leave out a batch that is committed already. For
the answer it rebuilds the table's state: three Spark jobs, as long as a small batch itself takes. Yet each commit comes
with a checksum file that lists the transactions (Delta protocol, "Version Checksum File", `setTransactions`), and the
snapshot that Delta keeps after a commit has read it. Here that snapshot is told what it would find out.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from penstock.spark._jvm import java_session, jvm, scala_seq

_BIT = {"4.4.0": 1 << 19}
"""By version of Delta: which bit of `Snapshot.bitmap$0` says that the lazy value `transactions` is there."""


def remember_transactions(spark: SparkSession, path: str) -> bool:
    """Tells Delta's newest snapshot of the table at `path` the transactions of its checksum file.

    Call it when no batch can have been committed that is going to run: after a batch of the running query, or before
    the first one of a new checkpoint. After a restart the log itself must be asked. A later commit, by whomever, has a
    snapshot of its own, which knows nothing of this.

    Returns whether the snapshot knows them now; Delta finds them out by itself where it does not. That is so for
    another version of Delta, and after a commit without a checksum, such as that of another engine. Never raises.
    """
    with suppress(Py4JError):
        java = jvm(spark)
        known = _BIT.get(java.io.delta.package.VERSION())
        snapshot = java.org.apache.spark.sql.delta.DeltaLog.forTable(java_session(spark), path).unsafeVolatileSnapshot()
        transactions = _of_checksum(java, snapshot)
        if known is None or transactions is None:
            return False
        _private(snapshot, "transactions").set(snapshot, transactions)
        return _mark(java, snapshot, known)
    return False


def _of_checksum(java: Any, snapshot: Any) -> Any:
    """Returns a Scala map of the last version by application, None when the checksum does not have it."""
    checksum = snapshot.checksumOpt()
    if checksum.isEmpty() or checksum.get().setTransactions().isEmpty():
        return None
    found = getattr(getattr(java.scala.collection.immutable, "Map$"), "MODULE$").empty()
    # Delta's own function: a number that passes through Python would come back as an Integer.
    pair = getattr(java.org.apache.spark.sql.delta.SnapshotStateManager, "$anonfun$transactions$1")
    for transaction in scala_seq(checksum.get().setTransactions().get()):
        found = getattr(found, "$plus")(pair(transaction))
    return found


def _mark(java: Any, snapshot: Any, bit: int) -> bool:
    """Sets `bit` in one step, as another thread may ask the snapshot for something else just now."""
    unsafe = _private(java.java.lang.Class.forName("sun.misc.Unsafe"), "theUnsafe", owner=True).get(None)
    place = unsafe.objectFieldOffset(_private(snapshot, "bitmap$0"))
    while not (before := unsafe.getIntVolatile(snapshot, place)) & bit:
        if unsafe.compareAndSwapInt(snapshot, place, before, before | bit):
            break
    return True


def _private(holder: Any, name: str, *, owner: bool = False) -> Any:
    field = (holder if owner else holder.getClass()).getDeclaredField(name)
    field.setAccessible(True)
    return field

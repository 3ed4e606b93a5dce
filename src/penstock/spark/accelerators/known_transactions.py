"""Spares Delta the look through a table's whole log before each batch.

Delta's sink asks the table for the last transaction of the query, to leave out a batch that is committed already. For
the answer it rebuilds the table's state: three Spark jobs, as long as a small batch itself takes. Yet each commit comes
with a checksum file that lists the transactions (Delta protocol, "Version Checksum File", `setTransactions`), and the
snapshot that Delta keeps after a commit has read it. Here that snapshot gets the transactions in advance
(`java/penstock/delta/KnownTransactions.java`).
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from penstock.spark._jvm import java_session, jvm
from penstock.spark.accelerators.accelerator import KNOWN_TRANSACTIONS

FORGET: Final = "penstock.forgetTransactions"
"""The option with which Penstock's own sink leaves the transactions to Delta."""


def remember_transactions(spark: SparkSession, path: str) -> bool:
    """Gives Delta's newest snapshot of the table at `path` the transactions of its checksum file.

    Call it when no batch can have been committed that is going to run: after a batch of the running query, or before
    the first one of a new checkpoint. After a restart the log itself must be read. A later commit, by whomever, has a
    snapshot of its own, which knows nothing of this. Delta's streaming sink does this itself, see `DeltaWriter`.

    Returns whether the snapshot knows them now; Delta finds them out by itself where it does not. That is so for
    another version of Delta, after a commit without a checksum, such as that of another engine, and in a session
    without Penstock's Java classes. Never raises.
    """
    if not KNOWN_TRANSACTIONS.applies():
        return False
    with suppress(Py4JError, TypeError):  # TypeError: py4j took a class that is not there for a package
        return bool(jvm(spark).penstock.delta.KnownTransactions.remember(java_session(spark), path))
    return False

package penstock.delta;

import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.SnapshotState;
import org.apache.spark.sql.delta.VersionChecksum;

/**
 * Gives a snapshot of a Delta table the numbers that its checksum file has, for which Delta would otherwise read the
 * whole log; see penstock.spark.accelerators.known_state.
 *
 * <p>Relies on: {@link LazyValue}; the constructor of Delta's {@code SnapshotState}, {@code Snapshot.checksumOpt},
 * {@code VersionChecksum}.
 *
 * <p>Without it: Delta computes the state itself, as it does with any other version of it.
 */
final class KnownState {
  private KnownState() {}

  /**
   * Sets the state of the snapshot, if it is not computed yet. Whether a batch is committed already is never answered
   * from a checksum here: a table with transactions gets its state when these are known by another way.
   */
  static void remember(Snapshot snapshot) throws ReflectiveOperationException {
    if (snapshot._computedStateTriggered()
        || snapshot.checksumOpt().isEmpty()
        || !LazyValue.isSupported()) {
      return;
    }
    VersionChecksum known = snapshot.checksumOpt().get();
    if (known.setTransactions().isEmpty() || known.domainMetadata().isEmpty()) {
      return; // a commit of another engine
    }
    if (LazyValue.TRANSACTIONS.isComputed(snapshot) || known.setTransactions().get().isEmpty()) {
      LazyValue.COMPUTED_STATE.set(snapshot, () -> stateOf(known));
      snapshot._computedStateTriggered_$eq(true);
    }
  }

  private static SnapshotState stateOf(VersionChecksum known) {
    return new SnapshotState(
        known.tableSizeBytes(),
        known.setTransactions().get().size(),
        known.numFiles(),
        0, // removed files, which nobody asks for
        known.numDeletedRecordsOpt(),
        known.numDeletionVectorsOpt(),
        known.numMetadata(),
        known.numProtocol(),
        known.setTransactions().get(),
        known.domainMetadata().get(),
        known.metadata(),
        known.protocol(),
        known.fileSizeHistogram(),
        known.deletedRecordCountsHistogramOpt());
  }
}

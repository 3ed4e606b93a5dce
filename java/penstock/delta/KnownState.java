package penstock.delta;

import io.delta.package$;
import java.lang.reflect.Field;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.SnapshotState;
import org.apache.spark.sql.delta.VersionChecksum;

/**
 * Gives a snapshot of a Delta table the numbers that its checksum file has, for which Delta would otherwise read the
 * whole log; see penstock.spark.accelerators.known_state.
 *
 * <p>Relies on: by reflection, the private fields {@code computedState} (a Scala lazy value) and {@code bitmap$0} (bit
 * 20 for it, bit 19 for {@code transactions}) of Delta's {@code Snapshot}, in Delta 4.4.0 only; the constructor of
 * {@code SnapshotState}, {@code Snapshot.checksumOpt}, {@code VersionChecksum}.
 *
 * <p>Without it: Delta computes the state itself, as it does with any other version of it.
 */
final class KnownState {
  private static final String SUPPORTED_DELTA = "4.4.0";
  private static final int STATE_BIT = 1 << 20;
  private static final int TRANSACTIONS_BIT = 1 << 19;

  private KnownState() {}

  /**
   * Sets the state of the snapshot, if it is not computed yet. Whether a batch is committed already is never answered
   * from a checksum here: a table with transactions gets its state when these are known by another way.
   */
  static void remember(Snapshot snapshot) throws ReflectiveOperationException {
    if (snapshot._computedStateTriggered()
        || snapshot.checksumOpt().isEmpty()
        || !SUPPORTED_DELTA.equals(package$.MODULE$.VERSION())) {
      return;
    }
    VersionChecksum known = snapshot.checksumOpt().get();
    if (known.setTransactions().isEmpty() || known.domainMetadata().isEmpty()) {
      return; // a commit of another engine
    }
    Field state = KnownTransactions.field("computedState");
    Field bitmap = KnownTransactions.field("bitmap$0");
    synchronized (snapshot) { // the lock that Scala takes to compute a lazy value
      int computed = bitmap.getInt(snapshot);
      boolean safe = (computed & TRANSACTIONS_BIT) != 0 || known.setTransactions().get().isEmpty();
      if ((computed & STATE_BIT) == 0 && safe) {
        state.set(snapshot, stateOf(known));
        bitmap.setInt(snapshot, computed | STATE_BIT);
        snapshot._computedStateTriggered_$eq(true);
      }
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

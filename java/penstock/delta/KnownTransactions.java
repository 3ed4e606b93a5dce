package penstock.delta;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.VersionChecksum;
import org.apache.spark.sql.delta.actions.SetTransaction;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.collection.mutable.Builder;

/**
 * Puts the transactions of a table's checksum file into Delta's cached snapshot, so that Delta does not read the whole
 * log for them before each batch; see penstock.spark.accelerators.known_transactions.
 *
 * <p>Relies on: {@link LazyValue}; Delta's {@code DeltaLog.forTable} and {@code unsafeVolatileSnapshot}, {@code
 * Snapshot.checksumOpt}, {@code VersionChecksum.setTransactions}, {@code SetTransaction}.
 *
 * <p>Without it: {@code remember} returns false, and Delta computes the transactions itself. With another delta-spark
 * package the accelerator {@code known_transactions} is off, and the sink has {@code penstock.forgetTransactions}.
 * Without this class, Python's {@code suppress(Py4JError, TypeError)} makes {@code remember_transactions} return False.
 */
public final class KnownTransactions {
  private KnownTransactions() {}

  /**
   * Sets the transactions of the newest snapshot that Delta has cached of the table to those in its checksum.
   *
   * @return whether the snapshot has its transactions now; never throws
   */
  public static boolean remember(SparkSession spark, String path) {
    DeltaLog log = LogCheckpoints.logOf(spark, path);
    return log != null && remember(log);
  }

  static boolean remember(DeltaLog log) {
    try {
      Snapshot snapshot = log.unsafeVolatileSnapshot();
      Option<VersionChecksum> checksum = snapshot.checksumOpt();
      if (checksum.isEmpty() || checksum.get().setTransactions().isEmpty()) {
        return false; // a commit of another engine
      }
      return LazyValue.isSupported() && remember(snapshot, checksum.get().setTransactions().get());
    } catch (Exception | LinkageError failure) {
      return LogCheckpoints.ignore(failure); // Delta computes them itself
    }
  }

  static boolean remember(Snapshot snapshot, Seq<SetTransaction> listed) throws ReflectiveOperationException {
    Builder<Tuple2<String, Object>, Map<String, Object>> versions = Map$.MODULE$.newBuilder();
    for (Iterator<SetTransaction> each = listed.iterator(); each.hasNext(); ) {
      SetTransaction transaction = each.next();
      versions.addOne(new Tuple2<>(transaction.appId(), transaction.version()));
    }
    LazyValue.TRANSACTIONS.set(snapshot, versions::result);
    return true;
  }
}

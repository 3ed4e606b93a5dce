package penstock.delta;

import io.delta.package$;
import java.lang.reflect.Field;
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
 * Spares Delta the look through a table's whole log before each batch; see
 * penstock.spark.accelerators.known_transactions.
 */
public final class KnownTransactions {
  private static final String DELTA = "4.4.0";

  /** The bit of {@code Snapshot.bitmap$0} that says that the lazy value {@code transactions} is there; of that Delta. */
  private static final int THERE = 1 << 19;

  private KnownTransactions() {}

  /**
   * Gives the newest snapshot that Delta has of the table the transactions that its checksum lists.
   *
   * @return whether it knows them now; never throws
   */
  public static boolean remember(SparkSession spark, String path) {
    try {
      return remember(DeltaLog.forTable(spark, path));
    } catch (RuntimeException | LinkageError cannot) {
      return false; // no table, or another Delta
    }
  }

  static boolean remember(DeltaLog log) {
    try {
      Snapshot snapshot = log.unsafeVolatileSnapshot();
      Option<VersionChecksum> checksum = snapshot.checksumOpt();
      if (checksum.isEmpty() || checksum.get().setTransactions().isEmpty()) {
        return false; // a commit of another engine
      }
      return DELTA.equals(package$.MODULE$.VERSION())
          && remember(snapshot, checksum.get().setTransactions().get());
    } catch (ReflectiveOperationException | RuntimeException | LinkageError cannot) {
      return false; // then Delta finds them out by itself
    }
  }

  private static boolean remember(Snapshot snapshot, Seq<SetTransaction> listed) throws ReflectiveOperationException {
    Builder<Tuple2<String, Object>, Map<String, Object>> known = Map$.MODULE$.newBuilder();
    for (Iterator<SetTransaction> each = listed.iterator(); each.hasNext(); ) {
      SetTransaction transaction = each.next();
      known.addOne(new Tuple2<>(transaction.appId(), transaction.version()));
    }
    Field value = field("transactions");
    Field there = field("bitmap$0");
    synchronized (snapshot) { // as Scala does when it finds a lazy value out
      if ((there.getInt(snapshot) & THERE) == 0) {
        value.set(snapshot, known.result());
        there.setInt(snapshot, there.getInt(snapshot) | THERE);
      }
    }
    return true;
  }

  private static Field field(String name) throws NoSuchFieldException {
    Field field = Snapshot.class.getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }
}

package penstock.delta;

import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import scala.Option;

/**
 * Writes the checkpoint of a table's log beside the stream that fills the table, where Delta would let the batch wait
 * for it; see penstock.spark.accelerators.log_checkpoints.
 */
public final class LogCheckpoints {
  /** The {@code delta.checkpointInterval} of the tables that this is for: Delta itself hardly ever writes one. */
  private static final int OURS = 10_000;

  private static final int COMMITS = 50;

  /** How much longer than a checkpoint took the table has none: a growing one costs a tenth of a core, not more. */
  private static final int REST = 9;

  private static final Map<String, LogCheckpoints> OF_TABLES = new ConcurrentHashMap<>();

  /** One at a time, whatever the table; the thread ends when there was nothing to do for a while. */
  private static final ThreadPoolExecutor BESIDE = new ThreadPoolExecutor(
      1, 1, 30, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), work -> {
        Thread thread = new Thread(work, "log-checkpoints");
        thread.setDaemon(true); // a process that ends does not wait: an unfinished checkpoint is none
        return thread;
      });

  static {
    BESIDE.allowCoreThreadTimeOut(true);
  }

  private boolean known;
  private boolean running;
  private boolean unseen;
  private long tried;
  private long restsUntil;

  private LogCheckpoints() {}

  /**
   * Call it in a query's own thread, after each batch that it has committed to the table at {@code path}: a checkpoint
   * that is due is begun. The first batch of this process waits for it, so that short runs get theirs too.
   *
   * @return whether one was written or begun; never throws
   */
  public static boolean afterBatch(SparkSession spark, String path) {
    try {
      return afterBatch(spark, DeltaLog.forTable(spark, path));
    } catch (RuntimeException | LinkageError cannot) {
      return false; // no table, or another Delta
    }
  }

  static boolean afterBatch(SparkSession spark, DeltaLog log) {
    try {
      Snapshot snapshot = log.unsafeVolatileSnapshot();
      int interval = log.checkpointInterval(snapshot.metadata());
      if (snapshot.version() % interval == 0) {
        look(log); // else Delta finds the checkpoint that it has written itself in the next batch
      }
      return interval == OURS && of(log).begin(spark, log, snapshot);
    } catch (Exception | LinkageError cannot) {
      return nothing(cannot);
    }
  }

  /**
   * Call it before a batch, if the query has committed one: Delta begins a batch with a look at the log, takes to a new
   * checkpoint, and with it forgets what it was told of the transactions. So it looks now, and is told again.
   *
   * @return whether there may be a new checkpoint; never throws
   */
  static boolean beforeBatch(DeltaLog log) {
    try {
      if (!of(log).isUnseen()) {
        return false;
      }
      look(log);
      KnownTransactions.remember(log);
      return true;
    } catch (Exception | LinkageError cannot) {
      return nothing(cannot);
    }
  }

  private static LogCheckpoints of(DeltaLog log) {
    return OF_TABLES.computeIfAbsent(log.dataPath().toString(), path -> new LogCheckpoints());
  }

  private static void look(DeltaLog log) {
    log.update(false, Option.empty(), Option.empty());
  }

  private static boolean nothing(Throwable cannot) {
    if (cannot instanceof InterruptedException) {
      Thread.currentThread().interrupt(); // the query is stopped
    }
    return false; // the log stays as long as it is, until a later batch tries again
  }

  private synchronized boolean isUnseen() {
    boolean was = unseen;
    unseen = running;
    return was;
  }

  private boolean begin(SparkSession spark, DeltaLog log, Snapshot newest) {
    boolean first;
    synchronized (this) {
      first = !known;
      known = true;
      if (running || !isDue(newest, first)) {
        return false;
      }
      tried = newest.version();
      running = true;
      unseen = true;
    }
    if (first) {
      write(log, newest);
      return true;
    }
    BESIDE.execute(() -> {
      SparkContext context = spark.sparkContext();
      context.setLocalProperties(new Properties()); // not those of the query, with which its jobs are cancelled
      context.setLocalProperty("spark.scheduler.pool", "checkpoints");
      context.setJobDescription("checkpoint of the log of " + log.dataPath());
      SparkSession.setActiveSession(spark);
      write(log, newest);
    });
    return true;
  }

  private boolean isDue(Snapshot newest, boolean first) {
    long last = newest.logSegment().checkpointProvider().version(); // -1: none
    boolean again = !first && tried <= newest.version(); // else somebody has made the table anew
    if (again) {
      last = Math.max(last, tried);
    }
    return newest.version() - last >= COMMITS && !(again && System.nanoTime() - restsUntil < 0);
  }

  private void write(DeltaLog log, Snapshot newest) {
    long began = System.nanoTime();
    Snapshot own = null;
    try {
      // Of the newest one Delta throws away what it has found out as soon as the stream commits; nobody else has this.
      own = log.getSnapshotAt(
          newest.version() - 1, Option.empty(), Option.apply(newest.checkpointProvider()), Option.empty(), false);
      log.checkpoint(own, Option.empty()); // and deletes what has expired of the log
    } catch (Exception | LinkageError cannot) {
      nothing(cannot); // the session has ended, or the table is gone; of the rest Delta tells its log
    } finally {
      if (own != null) {
        own.uncache();
      }
      long ended = System.nanoTime();
      synchronized (this) {
        restsUntil = ended + REST * (ended - began);
        running = false;
      }
    }
  }
}

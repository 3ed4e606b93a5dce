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
 * Writes the checkpoint of a Delta log in a background thread, where Delta would write it within a batch of the stream;
 * see penstock.spark.accelerators.log_checkpoints.
 *
 * <p>Relies on: {@code DeltaLog} ({@code forTable}, {@code unsafeVolatileSnapshot}, {@code checkpointInterval},
 * {@code update}, {@code getSnapshotAt}, {@code checkpoint}, {@code dataPath}) and {@code Snapshot} ({@code version},
 * {@code metadata}, {@code logSegment}, {@code checkpointProvider}, {@code uncache}) of Delta; Spark's
 * {@code SparkContext.setLocalProperties}, which is private[spark].
 *
 * <p>Without it: the methods return false, and the log of a table with this class's interval gets no checkpoint. With
 * another delta-spark package (accelerator {@code log_checkpoints} off), or where {@code has_format} is false for the
 * sink, new tables do not get this interval, and Delta writes checkpoints within the batches. Without this class,
 * Python's {@code suppress(Py4JError, TypeError)} makes {@code checkpoint_if_due} return False.
 */
public final class LogCheckpoints {
  /** The {@code delta.checkpointInterval} of the tables whose checkpoints are written here; Delta hardly reaches it. */
  private static final int MANAGED_INTERVAL = 10_000;

  private static final int COMMITS_PER_CHECKPOINT = 50;

  /** A table pauses this many times as long as its last checkpoint took: at most a tenth of a core is used for it. */
  private static final int PAUSE_FACTOR = 9;

  private static final Map<String, LogCheckpoints> BY_TABLE = new ConcurrentHashMap<>();

  /** Writes one checkpoint at a time, of any table; the thread ends after 30 idle seconds. */
  private static final ThreadPoolExecutor BACKGROUND = new ThreadPoolExecutor(
      1, 1, 30, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), work -> {
        Thread thread = new Thread(work, "log-checkpoints");
        thread.setDaemon(true); // the process does not wait for it at its end: an unfinished checkpoint has no effect
        return thread;
      });

  static {
    BACKGROUND.allowCoreThreadTimeOut(true);
  }

  private boolean hadBatch; // whether this process has committed a batch to the table
  private boolean running;
  private boolean updateNeeded; // whether Delta's snapshot may be older than the newest checkpoint
  private long lastVersion; // of the last attempt
  private long pausedUntil; // by System.nanoTime

  private LogCheckpoints() {}

  /**
   * Starts a checkpoint if one is due. Called in a query's own thread, after each batch that it has committed to the
   * table at {@code path}. The first batch of this process waits for the checkpoint, so that short runs get one too.
   *
   * @return whether one was written or started; never throws
   */
  public static boolean afterBatch(SparkSession spark, String path) {
    DeltaLog log = logOf(spark, path);
    return log != null && afterBatch(spark, log);
  }

  /**
   * Returns Delta's log of the table at {@code path}; null if there is none, or if it cannot be had. Never throws: the
   * batch is committed already. Delta throws checked exceptions too, which Scala does not declare, such as an
   * IOException of the file system, or an InterruptedException when the query is stopped.
   */
  static DeltaLog logOf(SparkSession spark, String path) {
    try {
      return DeltaLog.forTable(spark, path);
    } catch (Exception | LinkageError failure) {
      ignore(failure);
      return null;
    }
  }

  static boolean afterBatch(SparkSession spark, DeltaLog log) {
    try {
      Snapshot snapshot = log.unsafeVolatileSnapshot();
      int interval = log.checkpointInterval(snapshot.metadata());
      if (snapshot.version() % interval == 0) {
        update(log); // otherwise Delta finds the checkpoint that it has written itself in the next batch
      }
      return interval == MANAGED_INTERVAL && of(log).start(spark, log, snapshot);
    } catch (Exception | LinkageError failure) {
      return ignore(failure);
    }
  }

  /**
   * Updates Delta's snapshot of the log if there may be a new checkpoint. Called before a batch, once the query has
   * committed one: Delta updates the snapshot when a batch starts, switches to a new checkpoint, and then has no known
   * transactions. So the snapshot is updated here, and gets its transactions again.
   *
   * @return whether there may be a new checkpoint; never throws
   */
  static boolean beforeBatch(DeltaLog log) {
    try {
      if (!of(log).takeUpdateNeeded()) {
        return false;
      }
      update(log);
      KnownTransactions.remember(log);
      return true;
    } catch (Exception | LinkageError failure) {
      return ignore(failure);
    }
  }

  private static LogCheckpoints of(DeltaLog log) {
    return BY_TABLE.computeIfAbsent(log.dataPath().toString(), path -> new LogCheckpoints());
  }

  private static void update(DeltaLog log) {
    log.update(false, Option.empty(), Option.empty());
  }

  /** Goes on without an accelerator, whose failure is not the batch's; a later batch tries again. Returns false. */
  static boolean ignore(Throwable failure) {
    if (failure instanceof InterruptedException) {
      Thread.currentThread().interrupt(); // the query is stopped
    }
    return false;
  }

  private synchronized boolean takeUpdateNeeded() {
    boolean needed = updateNeeded;
    updateNeeded = running;
    return needed;
  }

  private boolean start(SparkSession spark, DeltaLog log, Snapshot newest) {
    boolean first;
    synchronized (this) {
      first = !hadBatch;
      hadBatch = true;
      if (running || !isDue(newest, first)) {
        return false;
      }
      lastVersion = newest.version();
      running = true;
      updateNeeded = true;
    }
    if (first) {
      write(log, newest);
      return true;
    }
    BACKGROUND.execute(() -> {
      SparkContext context = spark.sparkContext();
      context.setLocalProperties(new Properties()); // not those of the query, by which its jobs are cancelled
      context.setLocalProperty("spark.scheduler.pool", "checkpoints");
      context.setJobDescription("checkpoint of the log of " + log.dataPath());
      SparkSession.setActiveSession(spark);
      write(log, newest);
    });
    return true;
  }

  private boolean isDue(Snapshot newest, boolean first) {
    long last = newest.logSegment().checkpointProvider().version(); // -1: none
    boolean sameTable = !first && lastVersion <= newest.version(); // otherwise the table was created again
    if (sameTable) {
      last = Math.max(last, lastVersion);
    }
    return newest.version() - last >= COMMITS_PER_CHECKPOINT && !(sameTable && System.nanoTime() - pausedUntil < 0);
  }

  private void write(DeltaLog log, Snapshot newest) {
    long started = System.nanoTime();
    Snapshot own = null;
    try {
      // Delta uncaches the state of the newest snapshot when the stream commits; this snapshot is not shared.
      own = log.getSnapshotAt(
          newest.version() - 1, Option.empty(), Option.apply(newest.checkpointProvider()), Option.empty(), false);
      log.checkpoint(own, Option.empty()); // also deletes the expired part of the log
    } catch (Exception | LinkageError failure) {
      ignore(failure); // the session has ended, or the table is deleted; Delta logs other failures
    } finally {
      if (own != null) {
        own.uncache();
      }
      long ended = System.nanoTime();
      synchronized (this) {
        pausedUntil = ended + PAUSE_FACTOR * (ended - started);
        running = false;
      }
    }
  }
}

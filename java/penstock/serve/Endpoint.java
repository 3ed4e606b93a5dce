package penstock.serve;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.SparkSession;

/**
 * The open SQL endpoint of this process: its limits, and the queries that run. Python opens it before the Thrift server
 * starts; sessions other than {@code main} are those of clients.
 *
 * <p>Relies on: public API only ({@code SparkContext.cancelJobGroup}).
 */
public final class Endpoint {
  private static volatile Endpoint opened;

  final SparkSession main;
  final Door door;
  final long mostRows;
  final long seconds;

  private final Map<Long, Running> running = new ConcurrentHashMap<>();
  private final AtomicLong started = new AtomicLong();
  private final AtomicBoolean ranOutOfMemory = new AtomicBoolean();
  private final ScheduledExecutorService clock =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "query timeouts");
            thread.setDaemon(true);
            return thread;
          });

  private Endpoint(SparkSession main, Door door, long mostRows, long seconds) {
    this.main = main;
    this.door = door;
    this.mostRows = mostRows;
    this.seconds = seconds;
  }

  /** Opens the endpoint: a query may return {@code mostRows} and take {@code seconds}, 0 is no limit. */
  public static Endpoint open(SparkSession main, Door door, long mostRows, long seconds) {
    opened = new Endpoint(main, door, mostRows, seconds);
    BoundedRows.verify();
    VisibleTables.install(opened);
    return opened;
  }

  static Endpoint opened() {
    return opened;
  }

  /** Ends the queries of one user, or of all if {@code user} is null, with this condition; returns how many. */
  public int cancel(String user, String condition) {
    int count = 0;
    for (Running each : running.values()) {
      if (user == null || user.equals(each.user)) {
        each.end(condition);
        count++;
      }
    }
    return count;
  }

  /** Returns the users of the running queries, one for each query. */
  public List<String> usersOfRunning() {
    List<String> users = new ArrayList<>();
    for (Running each : running.values()) {
      users.add(each.user);
    }
    return users;
  }

  /** Returns how many queries have begun. */
  public long count() {
    return started.get();
  }

  /** Returns whether a query has run out of memory since this was asked the last time. */
  public boolean ranOutOfMemory() {
    return ranOutOfMemory.getAndSet(false);
  }

  void noteOutOfMemory() {
    ranOutOfMemory.set(true);
  }

  Running begin(String user) {
    Running query = new Running(started.incrementAndGet(), user);
    running.put(query.number, query);
    return query;
  }

  /** A query of this thread; {@code condition} is why it was ended, null if it was not. */
  final class Running implements AutoCloseable {
    final String user;
    private final long number;
    private final Thread thread = Thread.currentThread();
    private final String group = main.sparkContext().getLocalProperty("spark.jobGroup.id");
    private final ScheduledFuture<?> timeout;
    private boolean closed;
    volatile String condition;

    private Running(long number, String user) {
      this.number = number;
      this.user = user;
      timeout = seconds == 0 ? null : clock.schedule(() -> end("SQL_QUERY_TIMEOUT"), seconds, TimeUnit.SECONDS);
    }

    private synchronized void end(String why) {
      if (!closed && condition == null) {
        condition = why;
        if (group != null) {
          main.sparkContext().cancelJobGroup(group);
        }
        thread.interrupt(); // what plans or fetches in the driver belongs to no job
      }
    }

    @Override
    public synchronized void close() {
      closed = true;
      running.remove(number);
      if (timeout != null) {
        timeout.cancel(false);
      }
      if (condition != null) {
        Thread.interrupted(); // so that the next statement of this thread is not interrupted
      }
    }
  }
}

package penstock.delta;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.sources.DeltaDataSource;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.sources.StreamSinkProvider;
import org.apache.spark.sql.streaming.OutputMode;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * Delta's streaming sink, which after each batch also calls {@link KnownTransactions}, unless the option
 * {@code penstock.forgetTransactions} is set, and {@link LogCheckpoints}.
 *
 * <p>Relies on: Spark's {@code StreamSinkProvider} (unstable API) and {@code execution.streaming.Sink}; Delta's
 * {@code DeltaDataSource.createSink}.
 *
 * <p>Without it: {@code has_format} is false in a session without this class, and {@code DeltaWriter} in
 * spark/streams/writes.py uses Delta's own sink. A changed {@code createSink} is a NoSuchMethodError when the
 * query starts. What fails after a commit is left out: the batch does not fail for it.
 */
public final class DeltaSinkProvider implements StreamSinkProvider {
  /** Called by Spark for {@code writeStream.format(...)}. */
  public DeltaSinkProvider() {}

  @Override
  public Sink createSink(
      SQLContext context, Map<String, String> parameters, Seq<String> partitionColumns, OutputMode mode) {
    Sink delta = new DeltaDataSource().createSink(context, parameters, partitionColumns, mode);
    return new RememberingSink(delta, parameters.apply("path"), !parameters.contains("penstock.forgetTransactions"));
  }

  private static final class RememberingSink implements Sink {
    private final Sink delta;
    private final String path;
    private final boolean remembers;
    private DeltaLog log; // null until this query has committed a batch

    RememberingSink(Sink delta, String path, boolean remembers) {
      this.delta = delta;
      this.path = path;
      this.remembers = remembers;
    }

    @Override
    public void addBatch(long batchId, Dataset<Row> rows) {
      if (log != null) {
        LogCheckpoints.beforeBatch(log);
      }
      delta.addBatch(batchId, rows);
      // In the query's own thread: the next batch may start before a listener is notified of this one.
      log = LogCheckpoints.logOf(rows.sparkSession(), path);
      if (log != null) {
        LogCheckpoints.afterBatch(rows.sparkSession(), log);
        if (remembers) {
          KnownTransactions.remember(log);
        }
      }
    }

    /** Returns the description of the sink in the query's progress. */
    @Override
    public String toString() {
      return delta.toString();
    }
  }
}

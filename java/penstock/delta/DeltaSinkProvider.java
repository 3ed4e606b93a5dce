package penstock.delta;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.sources.DeltaDataSource;
import org.apache.spark.sql.execution.streaming.Sink;
import org.apache.spark.sql.sources.StreamSinkProvider;
import org.apache.spark.sql.streaming.OutputMode;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * Delta's own sink for a stream, which after each batch remembers the transactions of its table, unless it has the option
 * {@code penstock.forgetTransactions}, and has checkpoints of its log written beside.
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
    private DeltaLog log; // once this query has committed a batch

    RememberingSink(Sink delta, String path, boolean remembers) {
      this.delta = delta;
      this.path = path;
      this.remembers = remembers;
    }

    @Override
    public void addBatch(long number, Dataset<Row> rows) {
      if (log != null) {
        LogCheckpoints.beforeBatch(log);
      }
      delta.addBatch(number, rows);
      // In the query's own thread: the next batch may begin before a listener hears of this one.
      log = logOf(rows.sparkSession());
      if (log != null) {
        LogCheckpoints.afterBatch(rows.sparkSession(), log);
        if (remembers) {
          KnownTransactions.remember(log);
        }
      }
    }

    private DeltaLog logOf(SparkSession spark) {
      try {
        return DeltaLog.forTable(spark, path);
      } catch (RuntimeException cannot) {
        return null; // the batch is committed all the same
      }
    }

    /** As which the query's progress knows it. */
    @Override
    public String toString() {
      return delta.toString();
    }
  }
}

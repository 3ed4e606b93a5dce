package penstock.serve;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.CollectLimitExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.util.io.ChunkedByteBuffer;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.runtime.AbstractFunction1;

/**
 * The rows of a query, fetched into this process until they are more than it may hold. Spark fetches them compressed and
 * then decodes all, and its {@code maxResultSize} counts what is compressed; here each row counts when it is decoded.
 *
 * <p>Relies on: Spark's internal {@code SparkPlan}, and its private methods {@code getByteArrayRdd} and
 * {@code decodeUnsafeRows}.
 *
 * <p>Without them the endpoint does not start.
 */
final class BoundedRows {
  private static final String SIZE = "spark.driver.maxResultSize";
  private static final Method COMPRESSED = method("getByteArrayRdd", int.class, boolean.class);
  private static final Method DECODED = method("decodeUnsafeRows", ChunkedByteBuffer.class);

  private final Endpoint endpoint;
  private final long mostBytes;
  private final List<InternalRow> rows = new ArrayList<>();
  private long bytes;

  private BoundedRows(Endpoint endpoint) {
    this.endpoint = endpoint;
    this.mostBytes = endpoint.main.sparkContext().conf().getSizeAsBytes(SIZE, "0");
  }

  /** Fails if this Spark is another one than this class knows. */
  static void verify() {
    if (COMPRESSED == null || DECODED == null) {
      throw new IllegalStateException("This Spark fetches the rows of a query in another way");
    }
  }

  /** Returns the rows of a plan; refuses more rows or bytes than the endpoint may return. */
  static List<InternalRow> of(Endpoint endpoint, SparkPlan plan) {
    if (plan instanceof AdaptiveSparkPlanExec) {
      return ((AdaptiveSparkPlanExec) plan)
          .withFinalPlanUpdate(
              new AbstractFunction1<>() {
                @Override
                public List<InternalRow> apply(SparkPlan last) {
                  return of(endpoint, last);
                }
              });
    }
    BoundedRows fetched = new BoundedRows(endpoint);
    if (plan instanceof CollectLimitExec
        && ((CollectLimitExec) plan).limit() >= 0
        && ((CollectLimitExec) plan).offset() == 0) {
      fetched.take(((CollectLimitExec) plan).child(), ((CollectLimitExec) plan).limit());
    } else if (collectsByItself(plan)) { // few rows, or rows that are here already
      for (InternalRow row : plan.executeCollect()) {
        fetched.add(row);
      }
    } else {
      fetched.take(plan, -1);
    }
    return fetched.rows;
  }

  /** Fetches the first {@code limit} rows from as few partitions as it takes, or all of them if it is negative. */
  private void take(SparkPlan plan, int limit) {
    RDD<Tuple2<Object, ChunkedByteBuffer>> compressed = call(COMPRESSED, plan, limit, false);
    int count = compressed.getNumPartitions();
    int step = limit < 0 ? count : 1;
    for (int next = 0; next < count && rows.size() != limit; next += step, step *= limit < 0 ? 1 : 4) {
      int[] partitions = IntStream.range(next, Math.min(count, next + step)).toArray();
      for (List<Tuple2<Object, ChunkedByteBuffer>> blocks : compressed.toJavaRDD().collectPartitions(partitions)) {
        for (Tuple2<Object, ChunkedByteBuffer> block : blocks) {
          Iterator<InternalRow> decoded = call(DECODED, plan, block._2());
          while (rows.size() != limit && decoded.hasNext()) {
            add(decoded.next());
          }
        }
      }
    }
  }

  private void add(InternalRow row) {
    rows.add(row);
    bytes += row instanceof UnsafeRow ? ((UnsafeRow) row).getSizeInBytes() : 0;
    if (endpoint.mostRows > 0 && rows.size() > endpoint.mostRows) {
      refuse("it has more than " + endpoint.mostRows + " rows");
    }
    if (mostBytes > 0 && bytes > mostBytes) {
      refuse("it has more than " + mostBytes + " bytes");
    }
  }

  private void refuse(String subject) {
    throw new RefusedException(endpoint.door.refusal("SQL_RESULT_TOO_LARGE", subject));
  }

  private static boolean collectsByItself(SparkPlan plan) {
    try {
      return plan.getClass().getMethod("executeCollect").getDeclaringClass() != SparkPlan.class;
    } catch (NoSuchMethodException error) {
      throw new IllegalStateException(error);
    }
  }

  private static Method method(String name, Class<?>... types) {
    try {
      Method found = SparkPlan.class.getDeclaredMethod(name, types);
      found.setAccessible(true);
      return found;
    } catch (NoSuchMethodException error) {
      return null;
    }
  }

  @SuppressWarnings("unchecked") // as the signatures in Spark say
  private static <T> T call(Method method, SparkPlan plan, Object... arguments) {
    try {
      return (T) method.invoke(plan, arguments);
    } catch (java.lang.reflect.InvocationTargetException error) {
      throw BoundedRows.<RuntimeException>thrown(error.getCause());
    } catch (IllegalAccessException error) {
      throw new IllegalStateException(error);
    }
  }

  /** Throws what Spark threw, which Java does not let it declare. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> RuntimeException thrown(Throwable error) throws E {
    throw (E) error;
  }
}

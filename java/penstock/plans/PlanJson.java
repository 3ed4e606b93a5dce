package penstock.plans;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.zip.DeflaterOutputStream;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.Iterator;

/**
 * Returns the JSON of a logical plan to Python compressed, in one small answer.
 *
 * <p>Relies on: Spark's internal {@code LogicalPlan} ({@code toJSON}, {@code expressions}, {@code children}).
 *
 * <p>Without it: in a session without this class (TypeError in {@code plan_json} of spark/plans/definition.py) Python
 * calls {@code plan.toJSON()} itself, for plans of any size. A changed class or method is a Py4JJavaError there.
 */
public final class PlanJson {
  private PlanJson() {}

  /** Returns {@code plan.toJSON()} in UTF-8, compressed by zlib; empty if it has more than {@code most} expressions. */
  public static byte[] compressed(LogicalPlan plan, int most) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    if (expressions(plan) > most) {
      return bytes.toByteArray();
    }
    try (OutputStream out = new DeflaterOutputStream(bytes)) {
      out.write(plan.toJSON().getBytes(StandardCharsets.UTF_8));
    }
    return bytes.toByteArray();
  }

  private static long expressions(LogicalPlan plan) {
    long count = plan.expressions().size();
    for (Iterator<LogicalPlan> each = plan.children().iterator(); each.hasNext(); ) {
      count += expressions(each.next());
    }
    return count;
  }
}

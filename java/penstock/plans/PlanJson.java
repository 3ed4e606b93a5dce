package penstock.plans;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.zip.DeflaterOutputStream;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.collection.Iterator;

/** Hands a plan to Python in one small piece; see penstock.spark._jvm. */
public final class PlanJson {
  private PlanJson() {}

  /** Returns {@code plan.toJSON()} in UTF-8 and zlib's format; nothing of a plan with more expressions than asked for. */
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
    long found = plan.expressions().size();
    for (Iterator<LogicalPlan> each = plan.children().iterator(); each.hasNext(); ) {
      found += expressions(each.next());
    }
    return found;
  }
}

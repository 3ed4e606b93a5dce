package penstock.json;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Decodes whole files that begin with the byte-order mark of UTF-16. Each task has its own copy.
 *
 * <p>Relies on: Spark's internal {@code UTF8String}.
 *
 * <p>Without it: in a session without this class ({@code suppress(TypeError)} in {@code text_lines} of json_lines.py)
 * such a file needs the option {@code encoding}. A changed class is a LinkageError in the tasks.
 */
public final class MarkedText implements Serializable {
  private static final long serialVersionUID = 1;

  /** Returns a file in UTF-8; one without the mark of UTF-16 unchanged. */
  public UTF8String decoded(UTF8String file) {
    int mark = file.numBytes() < 2 ? 0 : (file.getByte(0) & 0xff) << 8 | file.getByte(1) & 0xff;
    return mark == 0xfeff || mark == 0xfffe
        ? UTF8String.fromString(new String(file.getBytes(), StandardCharsets.UTF_16))
        : file;
  }

  /** Always the same text: it appears in plans, which are compared. */
  @Override
  public String toString() {
    return "MarkedText";
  }
}

package penstock.json;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import org.apache.spark.unsafe.types.UTF8String;

/** Whole files that are in UTF-16 because they begin with its byte-order mark. */
public final class MarkedText implements Serializable {
  private static final long serialVersionUID = 1;

  /** Returns a file in UTF-8; its bytes as they are where they begin with no mark of UTF-16. */
  public UTF8String decoded(UTF8String file) {
    int mark = file.numBytes() < 2 ? 0 : (file.getByte(0) & 0xff) << 8 | file.getByte(1) & 0xff;
    return mark == 0xfeff || mark == 0xfffe
        ? UTF8String.fromString(new String(file.getBytes(), StandardCharsets.UTF_16))
        : file;
  }

  /** Stands in plans, which are compared. */
  @Override
  public String toString() {
    return "MarkedText";
  }
}

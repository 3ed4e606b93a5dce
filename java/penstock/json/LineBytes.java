package penstock.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Creates Jackson parsers that read the bytes of a line in place; from characters Jackson needs a buffer for each line.
 *
 * <p>Relies on: Spark's internal {@code UTF8String} ({@code getBaseObject}, {@code getBaseOffset}, {@code isValid}) and
 * {@code Platform}; that Jackson detects the encoding of bytes from the first four.
 *
 * <p>Without it: a LinkageError in the tasks, which ends the query. A line whose bytes are not an array is parsed from
 * characters.
 */
final class LineBytes {
  private static final long NOT_ASCII = 0x8080808080808080L;
  private static final int DETECTED = 4; // Jackson detects UTF-16, UTF-32 and a byte-order mark from so many bytes

  private LineBytes() {}

  /** Returns whether Jackson reads the same from the bytes of a line as from its characters. */
  static boolean areText(UTF8String line) {
    Object base = line.getBaseObject();
    int length = line.numBytes();
    if (!(base instanceof byte[]) || length < DETECTED) {
      return false;
    }
    for (int at = 0; at < DETECTED; at++) {
      if (line.getByte(at) <= 0) {
        return false;
      }
    }
    long offset = line.getBaseOffset();
    int at = 0;
    long bits = 0;
    for (; at <= length - Long.BYTES; at += Long.BYTES) {
      bits |= Platform.getLong(base, offset + at);
    }
    for (; at < length; at++) {
      bits |= line.getByte(at);
    }
    return (bits & NOT_ASCII) == 0 || line.isValid();
  }

  /** Returns a parser of the bytes of a line for which {@link #areText} is true. */
  static JsonParser parser(JsonFactory factory, UTF8String line) throws IOException {
    int start = (int) (line.getBaseOffset() - Platform.BYTE_ARRAY_OFFSET);
    return factory.createParser((byte[]) line.getBaseObject(), start, line.numBytes());
  }

  /** Returns a parser of any line; bytes that are not UTF-8 become U+FFFD. */
  static JsonParser anyParser(JsonFactory factory, UTF8String line) throws IOException {
    return areText(line)
        ? parser(factory, line)
        : factory.createParser(
            new InputStreamReader(new ByteArrayInputStream(line.getBytes()), StandardCharsets.UTF_8));
  }

  /** Returns whether the first character of a line after white space is that of an array. */
  static boolean beginsAsArray(UTF8String line) {
    int at = 0;
    while (at < line.numBytes() && isSpace(line.getByte(at))) {
      at++;
    }
    return at < line.numBytes() && line.getByte(at) == '[';
  }

  /** Returns whether a byte is white space in JSON. */
  static boolean isSpace(byte character) {
    return character == ' ' || character == '\t' || character == '\r' || character == '\n';
  }
}

package penstock.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** A line of text as the bytes that Jackson parses where they are; from characters it needs a buffer for each line. */
final class LineBytes {
  private static final long NOT_ASCII = 0x8080808080808080L;
  private static final int LOOKED_AT = 4; // Jackson tells UTF-16, UTF-32 and a mark from so many bytes

  private LineBytes() {}

  /** Tells whether Jackson reads the same from the bytes of a line as from its characters. */
  static boolean areText(UTF8String line) {
    Object base = line.getBaseObject();
    int length = line.numBytes();
    if (!(base instanceof byte[]) || length < LOOKED_AT) {
      return false;
    }
    for (int at = 0; at < LOOKED_AT; at++) {
      if (line.getByte(at) <= 0) {
        return false;
      }
    }
    long offset = line.getBaseOffset();
    int at = 0;
    long seen = 0;
    for (; at <= length - Long.BYTES; at += Long.BYTES) {
      seen |= Platform.getLong(base, offset + at);
    }
    for (; at < length; at++) {
      seen |= line.getByte(at);
    }
    return (seen & NOT_ASCII) == 0 || line.isValid();
  }

  /** Returns a parser of a line of which {@link #areText} holds. */
  static JsonParser parser(JsonFactory factory, UTF8String line) throws IOException {
    int start = (int) (line.getBaseOffset() - Platform.BYTE_ARRAY_OFFSET);
    return factory.createParser((byte[]) line.getBaseObject(), start, line.numBytes());
  }

  /** Returns a parser of any line; bytes that are no UTF-8 become the character for such. */
  static JsonParser anyParser(JsonFactory factory, UTF8String line) throws IOException {
    return areText(line)
        ? parser(factory, line)
        : factory.createParser(
            new InputStreamReader(new ByteArrayInputStream(line.getBytes()), StandardCharsets.UTF_8));
  }

  /** Tells whether the first character of a line, but for white space, is that of an array. */
  static boolean beginsAsArray(UTF8String line) {
    int at = 0;
    while (at < line.numBytes() && isSpace(line.getByte(at))) {
      at++;
    }
    return at < line.numBytes() && line.getByte(at) == '[';
  }

  /** Tells whether JSON takes a byte for white space. */
  static boolean isSpace(byte character) {
    return character == ' ' || character == '\t' || character == '\r' || character == '\n';
  }
}

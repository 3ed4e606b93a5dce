package penstock.json;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Copies parts of a JSON text as JSON texts; the factories are those of {@link VerbatimNumberOptions}.
 *
 * <p>Relies on: Spark's internal {@code UTF8String}, {@code ArrayBasedMapData} and {@code GenericArrayData}.
 *
 * <p>Without it: a LinkageError in the tasks, which ends the query.
 */
final class JsonText {
  private JsonText() {}

  /** Returns the current value of a parser. */
  static UTF8String of(JsonFactory factory, JsonParser parser) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (JsonGenerator generator = factory.createGenerator(out, JsonEncoding.UTF8)) {
      generator.copyCurrentStructure(parser);
    }
    return UTF8String.fromBytes(out.toByteArray());
  }

  /**
   * Returns the fields of an object that have a value, each as {@code "name":value} under its name.
   *
   * <p>Null for a line that is not an object, or repeats a name at any depth.
   */
  static MapData fields(JsonFactory factory, UTF8String line) {
    TreeMap<UTF8String, UTF8String> fields = new TreeMap<>();
    try (JsonParser parser = LineBytes.anyParser(factory, line)) {
      parser.enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION);
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        return null;
      }
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        String name = parser.currentName();
        if (parser.nextToken() != JsonToken.VALUE_NULL) {
          fields.put(UTF8String.fromString(name), field(factory, name, parser));
        }
      }
    } catch (IOException notJson) {
      return null;
    }
    return new ArrayBasedMapData(
        new GenericArrayData(fields.keySet().toArray()), new GenericArrayData(fields.values().toArray()));
  }

  private static UTF8String field(JsonFactory factory, String name, JsonParser parser) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (JsonGenerator generator = factory.createGenerator(out, JsonEncoding.UTF8)) {
      generator.writeStartObject();
      generator.writeFieldName(name);
      generator.copyCurrentStructure(parser);
      generator.writeEndObject();
    }
    return UTF8String.fromBytes(out.toByteArray(), 1, out.size() - 2); // without the braces
  }
}

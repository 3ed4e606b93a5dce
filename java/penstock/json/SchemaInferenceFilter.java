package penstock.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.EOFException;
import java.io.IOException;
import java.io.Serializable;
import java.util.HashMap;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.LongAccumulator;
import scala.collection.immutable.Map;

/**
 * Selects the JSON lines from which Spark must infer the schema: those with a field, or a kind of value in a field,
 * that no earlier line of the task has.
 *
 * <p>Relies on: Spark's internal {@code JSONOptions} and {@code UTF8String}, and how Spark's schema inference maps
 * values to types.
 *
 * <p>Without it: with the accelerator {@code json_inference} off, as it is with another pyspark package, and in a
 * session without this class (TypeError in {@code inferred} of json_lines.py) Spark infers the schema from all lines. A
 * changed class or method is a LinkageError, with which the inference fails.
 *
 * <p>The other lines add nothing to what Spark infers from these, because all values of a kind have the same type.
 * Kinds whose values differ in type are never recorded as known, and neither is a line that is not JSON or repeats a
 * key. Each task has its own copy.
 */
public final class SchemaInferenceFilter implements Serializable {
  private static final long serialVersionUID = 1;
  private static final int DIGITS_OF_LONG = 18;

  private static final int STRING = 1;
  private static final int INTEGER = 2;
  private static final int FRACTION = 4;
  private static final int BOOLEAN = 8;
  private static final int OBJECT = 16;
  private static final int ARRAY = 32;
  private static final int AMBIGUOUS = 64;

  private final Map<String, String> options;
  private final String timeZone;
  private final LongAccumulator arrays;

  private transient JsonFactory factory;
  private transient int ambiguous;
  private transient Place known;

  /** {@code arrays} counts the lines that begin as an array does. */
  public SchemaInferenceFilter(Map<String, String> options, String timeZone, LongAccumulator arrays) {
    this.options = options;
    this.timeZone = timeZone;
    this.arrays = arrays;
  }

  /** Returns whether Spark must infer from a line: it may add to the schema. */
  public boolean addsToSchema(UTF8String line) {
    if (known == null) {
      prepare();
    }
    if (LineBytes.beginsAsArray(line)) {
      arrays.add(1);
    }
    if (!LineBytes.areText(line)) {
      return true;
    }
    try {
      if (!walk(line, known, false)) {
        return false;
      }
      Place ofLine = new Place();
      walk(line, ofLine, true);
      if ((ofLine.kindsInside() & ambiguous) == 0) {
        walk(line, known, true);
      }
      return true;
    } catch (IOException notJson) {
      return true;
    }
  }

  /** Returns a line in which no number has an exponent: with {@code prefersDecimal} Spark infers no type from such. */
  public UTF8String withoutExponents(UTF8String line) {
    JsonFactory plain = VerbatimNumberOptions.withoutExponents(options, timeZone);
    try (JsonParser parser = LineBytes.anyParser(plain, line)) {
      return parser.nextToken() == null ? line : JsonText.of(plain, parser);
    } catch (IOException notJson) {
      return line;
    }
  }

  /** Always the same text: it appears in plans, which are compared. */
  @Override
  public String toString() {
    return "SchemaInferenceFilter";
  }

  private void prepare() {
    JSONOptions parsed = new JSONOptions(options, timeZone, "");
    factory = parsed.buildJsonFactory();
    ambiguous = AMBIGUOUS;
    if (parsed.prefersDecimal()) {
      ambiguous |= STRING | FRACTION;
    }
    if (parsed.inferTimestamp()) {
      ambiguous |= STRING;
    }
    known = new Place();
  }

  /**
   * Returns whether the first value of a line has something new. It reads up to the first new thing; with
   * {@code record} it reads, and records, all of the value.
   */
  private boolean walk(UTF8String line, Place root, boolean record) throws IOException {
    try (JsonParser parser = LineBytes.parser(factory, line)) {
      if (record) {
        parser.enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION); // Spark infers such fields separately
      }
      return parser.nextToken() != null && isNew(parser, root, record);
    }
  }

  /** Returns whether the current value of a parser is new at a place, and with {@code record} records it there. */
  private boolean isNew(JsonParser parser, Place place, boolean record) throws IOException {
    int kind = kind(parser);
    boolean added = (kind & ~place.kinds) != 0;
    if (record) {
      place.kinds |= kind;
    } else if (added) {
      return true;
    }
    if (kind == OBJECT) {
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        String name = parser.currentName();
        Place field = place.fields.get(name);
        if (field == null) {
          if (!record) {
            return true;
          }
          field = new Place();
          place.fields.put(name, field);
        }
        parser.nextToken();
        if (isNew(parser, field, record) && !record) {
          return true;
        }
      }
    } else if (kind == ARRAY) {
      while (parser.nextToken() != JsonToken.END_ARRAY) {
        if (isNew(parser, place.elements(), record) && !record) {
          return true;
        }
      }
    }
    return added;
  }

  private static int kind(JsonParser parser) throws IOException {
    JsonToken token = parser.currentToken();
    if (token == null) {
      throw new EOFException();
    }
    switch (token) {
      case VALUE_NULL:
        return 0;
      case VALUE_STRING:
        return parser.getTextLength() == 0 ? 0 : STRING; // Spark infers the null type from an empty one
      case VALUE_NUMBER_INT:
        return parser.getTextLength() <= DIGITS_OF_LONG ? INTEGER : AMBIGUOUS;
      case VALUE_NUMBER_FLOAT:
        return FRACTION;
      case VALUE_TRUE:
      case VALUE_FALSE:
        return BOOLEAN;
      case START_OBJECT:
        return OBJECT;
      case START_ARRAY:
        return ARRAY;
      default:
        return AMBIGUOUS;
    }
  }

  /** The kinds of values at one place of the records: of a field, or of the elements of an array. */
  private static final class Place {
    private final HashMap<String, Place> fields = new HashMap<>();
    private Place elements;
    private int kinds;

    private Place elements() {
      if (elements == null) {
        elements = new Place();
      }
      return elements;
    }

    private int kindsInside() {
      int all = kinds | (elements == null ? 0 : elements.kindsInside());
      for (Place field : fields.values()) {
        all |= field.kindsInside();
      }
      return all;
    }
  }
}

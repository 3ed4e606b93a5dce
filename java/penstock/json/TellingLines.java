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
 * Leaves few lines of JSON to Spark's inference of columns: those with a field, or a kind of value in a field, that no
 * line of the task had before.
 *
 * <p>What Spark infers from the others is in what it infers from these: a kind has one type only. Where that is not so,
 * and of a line that is no JSON or repeats a key, nothing is taken as seen. A task has its own copy.
 */
public final class TellingLines implements Serializable {
  private static final long serialVersionUID = 1;
  private static final int DIGITS_OF_LONG = 18;

  private static final int TEXT = 1;
  private static final int WHOLE = 2;
  private static final int FRACTION = 4;
  private static final int TRUTH = 8;
  private static final int OBJECT = 16;
  private static final int ARRAY = 32;
  private static final int SEVERAL_TYPES = 64;

  private final Map<String, String> options;
  private final String timeZone;
  private final LongAccumulator arrays;

  private transient JsonFactory factory;
  private transient int severalTypes;
  private transient Seen seen;

  /** {@code arrays} counts the lines that begin as an array does. */
  public TellingLines(Map<String, String> options, String timeZone, LongAccumulator arrays) {
    this.options = options;
    this.timeZone = timeZone;
    this.arrays = arrays;
  }

  /** Tells whether Spark has to look at a line. */
  public boolean tells(UTF8String line) {
    if (seen == null) {
      prepare();
    }
    if (LineBytes.beginsAsArray(line)) {
      arrays.add(1);
    }
    if (!LineBytes.areText(line)) {
      return true;
    }
    try {
      if (!walk(line, seen, false)) {
        return false;
      }
      Seen alone = new Seen();
      walk(line, alone, true);
      if ((alone.kindsInside() & severalTypes) == 0) {
        walk(line, seen, true);
      }
      return true;
    } catch (IOException notJson) {
      return true;
    }
  }

  /** Returns a line in which no number has an exponent: with {@code prefersDecimal} Spark takes such for no type. */
  public UTF8String withoutExponents(UTF8String line) {
    JsonFactory plain = NumbersAsWritten.withoutExponents(options, timeZone);
    try (JsonParser parser = LineBytes.anyParser(plain, line)) {
      return parser.nextToken() == null ? line : JsonText.of(plain, parser);
    } catch (IOException notJson) {
      return line;
    }
  }

  /** Stands in plans, which are compared. */
  @Override
  public String toString() {
    return "TellingLines";
  }

  private void prepare() {
    JSONOptions parsed = new JSONOptions(options, timeZone, "");
    factory = parsed.buildJsonFactory();
    severalTypes = SEVERAL_TYPES;
    if (parsed.prefersDecimal()) {
      severalTypes |= TEXT | FRACTION;
    }
    if (parsed.inferTimestamp()) {
      severalTypes |= TEXT;
    }
    seen = new Seen();
  }

  /** Returns whether there is something new in the first value of a line; up to there, or with {@code all} all of it. */
  private boolean walk(UTF8String line, Seen root, boolean all) throws IOException {
    try (JsonParser parser = LineBytes.parser(factory, line)) {
      if (all) {
        parser.enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION); // Spark keeps the types of such fields apart
      }
      return parser.nextToken() != null && isNew(parser, root, all);
    }
  }

  /** Tells of the value at which a parser is; {@code learn}s what is new in it. */
  private boolean isNew(JsonParser parser, Seen seen, boolean learn) throws IOException {
    int kind = kind(parser);
    boolean news = (kind & ~seen.kinds) != 0;
    if (learn) {
      seen.kinds |= kind;
    } else if (news) {
      return true;
    }
    if (kind == OBJECT) {
      while (parser.nextToken() != JsonToken.END_OBJECT) {
        String name = parser.currentName();
        Seen field = seen.fields.get(name);
        if (field == null) {
          if (!learn) {
            return true;
          }
          field = new Seen();
          seen.fields.put(name, field);
        }
        parser.nextToken();
        if (isNew(parser, field, learn) && !learn) {
          return true;
        }
      }
    } else if (kind == ARRAY) {
      while (parser.nextToken() != JsonToken.END_ARRAY) {
        if (isNew(parser, seen.elements(), learn) && !learn) {
          return true;
        }
      }
    }
    return news;
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
        return parser.getTextLength() == 0 ? 0 : TEXT; // Spark takes an empty one for null
      case VALUE_NUMBER_INT:
        return parser.getTextLength() <= DIGITS_OF_LONG ? WHOLE : SEVERAL_TYPES;
      case VALUE_NUMBER_FLOAT:
        return FRACTION;
      case VALUE_TRUE:
      case VALUE_FALSE:
        return TRUTH;
      case START_OBJECT:
        return OBJECT;
      case START_ARRAY:
        return ARRAY;
      default:
        return SEVERAL_TYPES;
    }
  }

  /** What was seen at one place of the records. */
  private static final class Seen {
    private final HashMap<String, Seen> fields = new HashMap<>();
    private Seen elements;
    private int kinds;

    private Seen elements() {
      if (elements == null) {
        elements = new Seen();
      }
      return elements;
    }

    private int kindsInside() {
      int all = kinds | (elements == null ? 0 : elements.kindsInside());
      for (Seen field : fields.values()) {
        all |= field.kindsInside();
      }
      return all;
    }
  }
}

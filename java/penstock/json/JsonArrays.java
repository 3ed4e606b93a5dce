package penstock.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.Map;

/**
 * Splits lines that are JSON arrays into the texts of their elements. Each task has its own copy.
 *
 * <p>Relies on: Spark's internal {@code UTF8String} and {@code GenericArrayData}.
 *
 * <p>Without it: in a session without this class (TypeError in {@code array_elements} of json_lines.py)
 * {@code from_json} with the type ARRAY&lt;STRING&gt; splits them. A changed class is a LinkageError in the tasks.
 */
public final class JsonArrays implements Serializable {
  private static final long serialVersionUID = 1;

  private final Map<String, String> options;
  private final String timeZone;

  private transient JsonFactory factory;

  public JsonArrays(Map<String, String> options, String timeZone) {
    this.options = options;
    this.timeZone = timeZone;
  }

  /** Returns the texts of the elements, null for a null; a line that is not exactly one array is the only element. */
  public ArrayData elements(UTF8String line) {
    List<UTF8String> elements = LineBytes.beginsAsArray(line) ? parsed(line) : null;
    return new GenericArrayData(elements == null ? new Object[] {line} : elements.toArray());
  }

  private List<UTF8String> parsed(UTF8String line) {
    if (factory == null) {
      factory = new VerbatimNumberOptions(options, timeZone, "").buildJsonFactory();
    }
    try (JsonParser parser = LineBytes.anyParser(factory, line)) {
      List<UTF8String> elements = new ArrayList<>();
      parser.nextToken();
      while (parser.nextToken() != JsonToken.END_ARRAY) {
        elements.add(parser.hasToken(JsonToken.VALUE_NULL) ? null : JsonText.of(factory, parser));
      }
      return parser.nextToken() == null ? elements : null;
    } catch (IOException notJson) {
      return null;
    }
  }

  /** Always the same text: it appears in plans, which are compared. */
  @Override
  public String toString() {
    return "JsonArrays";
  }
}

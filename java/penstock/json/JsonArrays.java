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

/** Takes apart lines that are arrays of records. A task has its own copy. */
public final class JsonArrays implements Serializable {
  private static final long serialVersionUID = 1;

  private final Map<String, String> options;
  private final String timeZone;

  private transient JsonFactory factory;

  public JsonArrays(Map<String, String> options, String timeZone) {
    this.options = options;
    this.timeZone = timeZone;
  }

  /** Returns the JSON texts of the elements, null for a null; a line that is not one whole array is the only element. */
  public ArrayData elements(UTF8String line) {
    List<UTF8String> found = LineBytes.beginsAsArray(line) ? found(line) : null;
    return new GenericArrayData(found == null ? new Object[] {line} : found.toArray());
  }

  private List<UTF8String> found(UTF8String line) {
    if (factory == null) {
      factory = new NumbersAsWritten(options, timeZone, "").buildJsonFactory();
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

  /** Stands in plans, which are compared. */
  @Override
  public String toString() {
    return "JsonArrays";
  }
}

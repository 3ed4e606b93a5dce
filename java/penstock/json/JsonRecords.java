package penstock.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.util.JsonParserDelegate;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.json.JsonToStructsEvaluator;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JacksonParser;
import org.apache.spark.sql.catalyst.util.BadRecordException;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Nil$;

/**
 * Parses lines as {@code from_json} does, and tells of each whether there may be more in it than in the row.
 *
 * <p>Nothing more is in a line whose parser left out no field and came to its end. A line that does not fit is given to
 * {@code from_json} itself. A task has its own copy.
 */
public final class JsonRecords implements Serializable {
  private static final long serialVersionUID = 1;

  private final StructType columns;
  private final StructType withCorrupt;
  private final StructType rowType;
  private final Map<String, String> options;
  private final String corrupt;
  private final String timeZone;

  private transient JacksonParser parser;
  private transient JsonToStructsEvaluator fromJson;
  private transient Watched watched;

  /** {@code corrupt} and {@code more} are names of columns that the rows have besides those of a schema in JSON. */
  public JsonRecords(String schema, Map<String, String> options, String timeZone, String corrupt, String more) {
    this.columns = ((StructType) DataType.fromJson(schema)).asNullable();
    this.withCorrupt = columns.add(corrupt, DataTypes.StringType);
    this.rowType = withCorrupt.add(more, DataTypes.BooleanType);
    this.options = options;
    this.timeZone = timeZone;
    this.corrupt = corrupt;
  }

  /** Returns the type of the rows. */
  public StructType rowType() {
    return rowType;
  }

  /** Returns the row of a line: the columns, what is corrupt, and whether there may be more; null for a blank line. */
  public InternalRow parse(UTF8String line) {
    if (!LineBytes.areText(line)) {
      return asFromJson(line);
    }
    if (parser == null) {
      parser = new JacksonParser(columns, new JSONOptions(options, timeZone, corrupt), false, noFilters());
    }
    try {
      Iterator<InternalRow> rows = rows(line);
      return rows.hasNext() ? row(((GenericInternalRow) rows.next()).values(), watched.more) : null;
    } catch (BadRecordException notAsAsked) {
      return asFromJson(line);
    }
  }

  private Iterator<InternalRow> rows(UTF8String line) throws BadRecordException { // Scala does not declare it
    return parser.parse(line, this::watch, same -> same).iterator();
  }

  /** Stands in plans, which are compared. */
  @Override
  public String toString() {
    return "JsonRecords(" + columns.simpleString() + ")";
  }

  private InternalRow asFromJson(UTF8String line) {
    if (fromJson == null) {
      fromJson = new JsonToStructsEvaluator(options, withCorrupt, corrupt, Option.apply(timeZone), false);
    }
    InternalRow found = (InternalRow) fromJson.evaluate(line);
    return found == null ? null : row(((GenericInternalRow) found).values(), true);
  }

  private InternalRow row(Object[] values, boolean more) {
    Object[] all = Arrays.copyOf(values, rowType.length());
    all[all.length - 1] = more;
    return new GenericInternalRow(all);
  }

  private JsonParser watch(JsonFactory factory, UTF8String line) {
    try {
      watched = new Watched(LineBytes.parser(factory, line), line);
      return watched;
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  @SuppressWarnings("unchecked")
  private static <T> scala.collection.immutable.Seq<T> noFilters() {
    return (scala.collection.immutable.Seq<T>) Nil$.MODULE$;
  }

  /** Notices what is not taken from a line. */
  private static final class Watched extends JsonParserDelegate {
    private final UTF8String line;
    private boolean more;

    private Watched(JsonParser parser, UTF8String line) {
      super(parser);
      this.line = line;
    }

    @Override
    public JsonParser skipChildren() throws IOException {
      more = true; // a field that the schema does not know
      return super.skipChildren();
    }

    /** Without a place a number for a column of texts is written as from_json writes it. */
    @Override
    public JsonLocation currentTokenLocation() {
      return JsonLocation.NA;
    }

    @Override
    public void close() throws IOException {
      for (int at = (int) delegate.currentLocation().getByteOffset(); at < line.numBytes() && !more; at++) {
        byte next = line.getByte(at);
        more = next != ' ' && next != ',' && next != '\r' && next != '\t' && next != '\n';
      }
      super.close();
    }
  }
}

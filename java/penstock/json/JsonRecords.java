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
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.util.BadRecordException;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.Iterator;
import scala.collection.immutable.Map;

/**
 * Parses lines as {@code from_json} does, but keeps the characters of numbers, and tells of each line whether there may
 * be more in it than in the row.
 *
 * <p>Nothing more is in a line whose parser left out no field, rounded no number and came to its end. A task has its own
 * copy.
 */
public final class JsonRecords implements Serializable {
  private static final long serialVersionUID = 1;

  private final StructType columns;
  private final StructType rowType;
  private final Map<String, String> options;
  private final String corrupt;
  private final String timeZone;

  private transient JsonFactory factory;
  private transient RecordParser parser;
  private transient Watched watched;

  /**
   * The rows have four columns besides those of {@code schema}, which is in JSON: {@code corrupt}, the line if it does
   * not fit; {@code more}; and where that is true {@code rounded}, the columns that have less digits than the line, and
   * {@code fields}, those of the line as {@link JsonText#fields} gives them.
   */
  public JsonRecords(
      String schema, Map<String, String> options, String timeZone,
      String corrupt, String more, String rounded, String fields) {
    this.columns = ((StructType) DataType.fromJson(schema)).asNullable();
    this.rowType =
        columns
            .add(corrupt, DataTypes.StringType)
            .add(more, DataTypes.BooleanType)
            .add(rounded, DataTypes.createArrayType(DataTypes.StringType))
            .add(fields, DataTypes.createMapType(DataTypes.StringType, DataTypes.StringType));
    this.options = options;
    this.timeZone = timeZone;
    this.corrupt = corrupt;
  }

  /** Returns the type of the rows. */
  public StructType rowType() {
    return rowType;
  }

  /** Returns the row of a line; null for a blank line. */
  public InternalRow parse(UTF8String line) {
    if (parser == null) {
      JSONOptions parsed = new NumbersAsWritten(options, timeZone, corrupt);
      factory = parsed.buildJsonFactory();
      parser = new RecordParser(columns, parsed);
    }
    parser.rounded().clear();
    try {
      Iterator<InternalRow> rows = rows(line);
      return rows.hasNext() ? row(rows.next(), line, null) : null;
    } catch (BadRecordException notAsAsked) {
      InternalRow[] partial = notAsAsked.partialResults().apply();
      return row(partial.length == 0 ? null : partial[0], line, line);
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

  private InternalRow row(InternalRow found, UTF8String line, UTF8String notFitting) {
    int width = columns.length();
    Object[] all = found == null ? new Object[width] : ((GenericInternalRow) found).values();
    all = Arrays.copyOf(all, rowType.length());
    boolean more = notFitting != null || watched.more || !parser.rounded().isEmpty();
    all[width] = notFitting;
    all[width + 1] = more;
    if (more) {
      Object[] names = parser.rounded().stream().map(UTF8String::fromString).toArray();
      all[width + 2] = new GenericArrayData(names);
      all[width + 3] = JsonText.fields(factory, line);
    }
    return new GenericInternalRow(all);
  }

  private JsonParser watch(JsonFactory its, UTF8String line) {
    try {
      watched =
          LineBytes.areText(line)
              ? new Watched(LineBytes.parser(its, line), line, false)
              : new Watched(LineBytes.anyParser(its, line), line, true);
      return watched;
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /** Notices what is not taken from a line. */
  private static final class Watched extends JsonParserDelegate {
    private final UTF8String line;
    private boolean more;

    private Watched(JsonParser parser, UTF8String line, boolean more) {
      super(parser);
      this.line = line;
      this.more = more;
    }

    @Override
    public JsonParser skipChildren() throws IOException {
      more = true; // a field that the schema does not know
      return super.skipChildren();
    }

    /** Without a place Spark copies a nested value for a column of texts by the factory's generator. */
    @Override
    public JsonLocation currentTokenLocation() {
      return JsonLocation.NA;
    }

    @Override
    public void close() throws IOException {
      for (int at = (int) delegate.currentLocation().getByteOffset(); at < line.numBytes() && !more; at++) {
        byte next = line.getByte(at);
        more = next != ',' && !LineBytes.isSpace(next);
      }
      super.close();
    }
  }
}

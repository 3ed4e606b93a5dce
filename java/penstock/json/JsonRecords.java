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
 * Parses JSON lines as {@code from_json} does, but keeps the digits of numbers as they are written, and returns for
 * each line whether it may contain more than the row.
 *
 * <p>Relies on: Spark's internal {@code JSONOptions}, {@code JacksonParser} (see {@link RecordParser}),
 * {@code BadRecordException.partialResults}, {@code GenericInternalRow.values} and {@code UTF8String}; that Spark's
 * parser skips a field that is not in the schema with {@code JsonParser.skipChildren}.
 *
 * <p>Without it: in a session without this class (TypeError in {@code parsed_lines} of json_lines.py) {@code from_json}
 * parses the lines, and each line counts as containing more. A changed class or method is a LinkageError in the tasks.
 * If Spark skips fields in another way, fields that are not in the schema are not rescued.
 *
 * <p>A line contains no more than the row if the parser skipped no field, rounded no number and read it to its end.
 * Each task has its own copy.
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
  private transient SkipDetector detector;

  /**
   * The rows have four columns after those of {@code schema}, which is in JSON: {@code corrupt}, the line if it does
   * not fit the schema; {@code more}, whether the line may contain more; and where that is true {@code rounded}, the
   * columns with less digits than the line, and {@code fields}, those of the line as {@link JsonText#fields} returns
   * them.
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
      JSONOptions parsed = new VerbatimNumberOptions(options, timeZone, corrupt);
      factory = parsed.buildJsonFactory();
      parser = new RecordParser(columns, parsed);
    }
    parser.rounded().clear();
    try {
      Iterator<InternalRow> rows = rows(line);
      return rows.hasNext() ? row(rows.next(), line, null) : null;
    } catch (BadRecordException badRecord) {
      InternalRow[] partial = badRecord.partialResults().apply();
      return row(partial.length == 0 ? null : partial[0], line, line);
    }
  }

  private Iterator<InternalRow> rows(UTF8String line) throws BadRecordException { // Scala does not declare it
    return parser.parse(line, this::parserOf, same -> same).iterator();
  }

  /** Always the same text for the same columns: it appears in plans, which are compared. */
  @Override
  public String toString() {
    return "JsonRecords(" + columns.simpleString() + ")";
  }

  private InternalRow row(InternalRow parsed, UTF8String line, UTF8String corruptLine) {
    int width = columns.length();
    Object[] values = parsed == null ? new Object[width] : ((GenericInternalRow) parsed).values();
    values = Arrays.copyOf(values, rowType.length());
    boolean more = corruptLine != null || detector.more || !parser.rounded().isEmpty();
    values[width] = corruptLine;
    values[width + 1] = more;
    if (more) {
      Object[] names = parser.rounded().stream().map(UTF8String::fromString).toArray();
      values[width + 2] = new GenericArrayData(names);
      values[width + 3] = JsonText.fields(factory, line);
    }
    return new GenericInternalRow(values);
  }

  private JsonParser parserOf(JsonFactory ofSpark, UTF8String line) {
    try {
      detector =
          LineBytes.areText(line)
              ? new SkipDetector(LineBytes.parser(ofSpark, line), line, false)
              : new SkipDetector(LineBytes.anyParser(ofSpark, line), line, true);
      return detector;
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /** Detects whether Spark's parser leaves out a part of a line. */
  private static final class SkipDetector extends JsonParserDelegate {
    private final UTF8String line;
    private boolean more;

    private SkipDetector(JsonParser parser, UTF8String line, boolean more) {
      super(parser);
      this.line = line;
      this.more = more;
    }

    @Override
    public JsonParser skipChildren() throws IOException {
      more = true; // a field that is not in the schema
      return super.skipChildren();
    }

    /** Without a location Spark copies a nested value for a STRING column with the factory's generator. */
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
